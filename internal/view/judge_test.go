package view

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A page number so large that the place of its rows is no number is refused.
func TestPageTooLarge(t *testing.T) {
	db := bigStore(t, 3)
	v := newViewer(t, db)
	runs, err := db.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := runs[0].ID
	get(t, v, "/r/"+id+"/samples?page=1000")
	for _, page := range []string{"92233720368547759", "9223372036854775807", "99999999999999999999", "0"} {
		for _, path := range []string{"/r/" + id + "/samples?page=", "/r/" + id + "/samples?q=item=doc-000001&page=", "/c?r=" + id + "&s=" + id + "&a=ctn@a&b=ctn@b&page=", "/r/" + id + "/t/1/calls?page=", "/r/" + id + "/i?item=doc-000001&page="} {
			w := httptest.NewRecorder()
			v.ServeHTTP(w, httptest.NewRequest("GET", path+page, nil))
			if w.Code != 400 || !strings.Contains(w.Body.String(), "must be a number from 1 to") {
				t.Errorf("%s: status %d", path+page, w.Code)
			}
		}
	}
}
