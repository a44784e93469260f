"""The languages of texts: how they are found, their stop words and stems, and how texts are split into words."""
