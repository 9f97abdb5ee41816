// Shows what an invitation's link is for, and answers it. What stands behind its # goes to our own API and nowhere else.
const byId = (id) => document.getElementById(id);
const told = byId("told");
const NAMES = { fullName: "The name", password: "The password", email: "The address" };
let token = "";

function tell(text, isWrong) {
  told.textContent = text;
  told.className = isWrong ? "wrong" : "right";
  told.focus();
}

async function post(path, body, bearer) {
  const headers = { "Content-Type": "application/json" };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  const answer = await fetch(new URL(`../api/auth/${path}`, location.href), {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw said;
  return said.data;
}

function refuse(said) {
  const errors = said.errors || [];
  if (errors.some((error) => error.field === "token")) {
    byId("offer").hidden = true;
    tell("This invitation is wrong, was used, or is not valid any more. Ask for a new one.", true);
  } else if (errors.length) {
    tell(errors.map((error) => `${NAMES[error.field] || error.field} ${error.message}.`).join(" "), true);
  } else {
    tell(said.errorMessage || "The service cannot be reached. Please try again.", true);
  }
}

async function show() {
  token = new URLSearchParams(location.hash.slice(1)).get("token") || "";
  history.replaceState(null, "", location.pathname);
  byId("offer").hidden = true;
  if (!token) return tell("Open the link of the mail with your invitation.", true);
  try {
    const offer = await post("invitations/preview", { token });
    byId("inviter").textContent = offer.invitedBy;
    byId("tenant").textContent = offer.tenant.name;
    byId("email").textContent = byId("username").value = byId("known").value = offer.email;
    byId("ends").dateTime = offer.expiresAt;
    byId("ends").textContent = new Date(offer.expiresAt).toLocaleDateString("en", { dateStyle: "long" });
    byId("register").hidden = offer.accountExists;
    byId("login").hidden = !offer.accountExists;
    byId("offer").hidden = false;
    told.textContent = told.className = "";
  } catch (said) {
    refuse(said);
  }
}

function answer(form, act) {
  byId(form).addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter;
    button.disabled = true;
    try {
      const text = await act();
      if (text) {
        byId("offer").hidden = true;
        tell(text, false);
      }
    } catch (said) {
      refuse(said);
    } finally {
      button.disabled = false;
    }
  });
}

answer("register", async () => {
  const password = byId("password").value;
  if (password !== byId("repeated").value) return tell("The two passwords are not the same.", true);
  await post("invitations/accept", { token, fullName: byId("name").value, password, isPasswordEncrypted: false });
  return "Your account is made and you have joined: you can log in now.";
});

answer("login", async () => {
  const login = { email: byId("known").value, password: byId("current").value, isPasswordEncrypted: false };
  const session = await post("login", login);
  await post("invitations/accept", { token }, session.token);
  return "You have joined: you can log in now.";
});

answer("decline", async () => {
  await post("invitations/decline", { token });
  return "The invitation is declined.";
});

addEventListener("hashchange", show);
show();
