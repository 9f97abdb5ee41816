// Does what a link in a mail is for. What stands behind its # goes to our own API and nowhere else, once asked to.
const act = document.getElementById("act");
const again = document.getElementById("again");
const told = document.getElementById("told");
const value = (id) => document.getElementById(id).value;
const isReset = act.dataset.post === "reset-password";
let link = new URLSearchParams();

function tell(text, isWrong) {
  told.textContent = text;
  told.className = isWrong ? "wrong" : "right";
  told.focus();
}

function readLink() {
  link = new URLSearchParams(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  const isWhole = link.has("email") && link.has("token");
  act.hidden = !isWhole;
  again.hidden = isWhole;
  told.textContent = "";
  document.getElementById("email").value = link.get("email") || "";
  if (isReset) document.getElementById("username").value = link.get("email") || "";
  else document.getElementById("whose").textContent = link.get("email") || "";
}

async function post(form, body) {
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await fetch(new URL(`../api/auth/${form.dataset.post}`, location.href), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) return refuse(said);
    form.hidden = true;
    if (form === act) again.hidden = true;
    tell(form.dataset.done, false);
  } catch {
    tell("The service cannot be reached. Please try again.", true);
  } finally {
    button.disabled = false;
  }
}

function refuse(said) {
  const errors = said.errors || [];
  if (errors.some((one) => one.field === "token")) {
    act.hidden = true;
    again.hidden = false;
    tell("This link is wrong, was used, or has expired.", true);
  } else if (errors.length) {
    const names = { newPassword: "The password", email: "The address" };
    tell(errors.map((one) => `${names[one.field] || one.field} ${one.message}.`).join(" "), true);
  } else {
    tell(said.errorMessage || "That did not work. Please try again.", true);
  }
}

act.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = { email: link.get("email"), token: link.get("token") };
  if (!isReset) return post(act, body);
  if (value("password") !== value("repeated")) return tell("The two passwords are not the same.", true);
  return post(act, { ...body, newPassword: value("password"), isPasswordEncrypted: false });
});

again.addEventListener("submit", (event) => {
  event.preventDefault();
  post(again, { email: value("email") });
});

addEventListener("hashchange", readLink);
readLink();
