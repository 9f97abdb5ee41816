// Shows the description, and keeps the token of whoever logs in on this page.
const place = document.getElementById("api");
const told = document.getElementById("told");
const issues = /\/api\/auth\/(login|refresh|switch-tenant|mfa\/verify)$/;
// of this tab alone: a token that outlives it would be there for whoever opens the browser next
const KEPT = "tenantry.docs.token";
const SHOWN_FOR = 6000;
let going;

function tell(text) {
  told.textContent = text;
  clearTimeout(going);
  going = setTimeout(() => (told.textContent = ""), SHOWN_FOR);
}

function keepToken(response) {
  const path = new URL(response.url, location.href).pathname;
  const token = response.ok && issues.test(path) && response.body && response.body.data && response.body.data.token;
  if (token) {
    ui.preauthorizeApiKey("bearer", token);
    tell("The token is kept: what you try from now on is sent with it.");
  }
  return response;
}

// Parameters of a list stand in groups, each with a heading; those of no group below come after them.
const groups = [
  ["Page", ["page", "pageSize", "count", "cursor"]],
  ["Search and order", ["search", "sort", "sortBy", "sortDirection", "sortOrder"]],
  ["What rows show", ["include", "fields", "includeDeleted"]],
];

function groupOf(parameter) {
  if (parameter.get("in") !== "query") return { path: "Path", header: "Headers" }[parameter.get("in")];
  const found = groups.find(([, names]) => names.includes(parameter.get("name")));
  return found ? found[0] : "Filters";
}

function grouped(Original, system) {
  const { createElement, Fragment } = system.React;
  return (props) => {
    const all = system.specSelectors.operationWithMeta(...props.pathMethod).get("parameters");
    const row = createElement(Original, props);
    if (!all.some((each) => groupOf(each) === "Page")) return row; // only lists have so many
    const group = groupOf(props.rawParam);
    const at = all.findIndex((each) => each.get("name") === props.rawParam.get("name"));
    if (at > 0 && groupOf(all.get(at - 1)) === group) return row;
    const heading = createElement("th", { colSpan: 2, scope: "rowgroup" }, group);
    return createElement(Fragment, null, createElement("tr", { className: "group" }, heading), row);
  };
}

const ours = () => ({ wrapComponents: { parameterRow: grouped } });

const ui = SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  plugins: [ours],
  onComplete: () => {
    const token = sessionStorage.getItem(KEPT);
    if (token) ui.preauthorizeApiKey("bearer", token);
  },
  responseInterceptor: keepToken,
});

// Groups are closed until somebody opens one, or filters.
let isFiltered = false;
ui.getStore().subscribe(() => {
  const filter = ui.layoutSelectors.currentFilter();
  const isNow = typeof filter === "string" && filter !== "";
  if (isNow === isFiltered) return;
  isFiltered = isNow;
  for (const tag of ui.specSelectors.tags()) ui.layoutActions.show(["operations-tag", tag.get("name")], isNow);
});

let known = "";
ui.getStore().subscribe(() => {
  const token = ui.authSelectors.authorized().getIn(["bearer", "value"]) || "";
  if (token === known) return;
  known = token;
  if (token) sessionStorage.setItem(KEPT, token);
  else sessionStorage.removeItem(KEPT);
});
