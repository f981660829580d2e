"use strict";
(function () {
  var form = document.getElementById("filter");
  if (!form) return;
  var samples = document.querySelectorAll(".sample");
  var shown = document.getElementById("filter-count");
  function apply() {
    var arm = form.elements.arm.value, rank = form.elements.rank.value, n = 0;
    samples.forEach(function (s) {
      var on = (!arm || s.dataset.arm === arm) && (!rank || s.dataset.rank === rank);
      s.hidden = !on;
      if (on) n++;
    });
    shown.textContent = n + " of " + samples.length + " shown";
  }
  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  document.getElementById("filter-open").addEventListener("click", function () {
    samples.forEach(function (s) { if (!s.hidden) s.open = true; });
  });
  apply();
})();
