"""The eICU experiment: mortality in one hospital, predicted from the other."""
