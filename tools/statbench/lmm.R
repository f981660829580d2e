# Times lme4 for tools/statbench: Rscript lmm.R FILE FORMULA RUNS
# Prints the seconds of the fastest fit (data read before), the criterion and theta.
args <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(lme4))
d <- read.csv(args[1], stringsAsFactors = TRUE)
f <- as.formula(args[2])
best <- Inf
for (i in seq_len(as.integer(args[3])))
  best <- min(best, system.time(m <- lmer(f, d))["elapsed"])
cat(sprintf("%.4f %.8f %s\n", best, REMLcrit(m), paste(sprintf("%.8f", getME(m, "theta")), collapse = " ")))
