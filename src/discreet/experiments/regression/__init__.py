"""Private logistic regression on real data, against ε and against peers."""
