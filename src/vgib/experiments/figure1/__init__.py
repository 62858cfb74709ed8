"""Figure 1: the terms of training step by step, from jobs of Table 2's kind."""
