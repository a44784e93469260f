"""The methods that the paper compares with, one module per method; every class has scikit-learn's `fit_predict`."""
