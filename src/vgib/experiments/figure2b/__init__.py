"""Figure 2(b): how far a prediction moves by noise in the found half and in the other half."""
