// Shows the description, and keeps the token of whoever logs in on this page.
const place = document.getElementById("api");
const told = document.getElementById("told");
const issues = /\/api\/auth\/(login|refresh|switch-tenant)$/;

function keepToken(response) {
  const path = new URL(response.url, location.href).pathname;
  const token = response.ok && issues.test(path) && response.body && response.body.data && response.body.data.token;
  if (token) {
    ui.preauthorizeApiKey("bearer", token);
    told.textContent = "The token is kept: what you try from now on is sent with it.";
  }
  return response;
}

const ui = SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  responseInterceptor: keepToken,
});
