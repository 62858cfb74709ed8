"""The models of the package: their data, their training and how they are judged."""
