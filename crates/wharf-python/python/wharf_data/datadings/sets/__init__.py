"""The types of samples of well-known datasets. Programs that download and convert these datasets are left out."""
