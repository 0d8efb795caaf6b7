"""What ``nvidia-smi`` wrote into a file, as the records that mgtop would have written."""
