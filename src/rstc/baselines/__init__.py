"""The methods the paper compares with, one file a method, all with the same fit_predict face."""
