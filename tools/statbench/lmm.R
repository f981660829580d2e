# Times lme4 on a CSV written by tools/statbench:  Rscript lmm.R FILE FORMULA
# Prints the seconds of the fit (data read before), the criterion and theta.
args <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(lme4))
d <- read.csv(args[1], stringsAsFactors = TRUE)
f <- as.formula(args[2])
s <- system.time(m <- lmer(f, d))["elapsed"]
cat(sprintf("%.3f %.6f %s\n", s, REMLcrit(m), paste(sprintf("%.5f", getME(m, "theta")), collapse = " ")))
