// Swagger UI is dark by a class of the page: the reader's choice sets it, before anything is drawn.
const dark = matchMedia("(prefers-color-scheme: dark)");
const apply = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", apply);
apply();
