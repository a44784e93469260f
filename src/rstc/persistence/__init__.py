"""Saved models: the model folder, its card, and the export to ONNX."""
