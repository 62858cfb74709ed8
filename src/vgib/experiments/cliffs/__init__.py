"""Activity cliffs: does a method know which change of a molecule raised its activity?"""
