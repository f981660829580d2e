package dist_test

import (
	"fmt"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Both tails keep their digits. R: pnorm(20, lower.tail = FALSE).
func ExampleNormal_Survival() {
	d := dist.Normal{Mean: 0, SD: 1}
	fmt.Printf("%.6g, not %v\n", d.Survival(20), 1-d.CDF(20))
	// Output: 2.75362e-89, not 0
}

// R: qt(0.975, 9).
func ExampleStudentT_Quantile() {
	fmt.Printf("%.6f\n", dist.StudentT{DF: 9}.Quantile(0.975))
	// Output: 2.262157
}
