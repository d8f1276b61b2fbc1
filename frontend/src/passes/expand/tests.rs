//! Accuracy, special values and exhaustive checks of the expansions.
