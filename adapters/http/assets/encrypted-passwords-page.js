// Logs in with what encryptPassword makes, and shows what was sent and answered.
const form = document.getElementById("login");
const told = document.getElementById("told");
const from = (path) => new URL(`../${path}`, location.href);

function tell(text, isWrong) {
  told.textContent = text;
  told.className = isWrong ? "wrong" : "right";
  told.focus();
}

async function login(email, password) {
  const { keys } = await (await fetch(from(".well-known/jwks.json"))).json();
  const sent = await encryptPassword(password, keys.find((key) => key.use === "enc" && key.alg === "RSA-OAEP-256"));
  document.getElementById("sent").textContent = sent;
  const answer = await fetch(from("api/auth/login"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password: sent, isPasswordEncrypted: true }),
  });
  return answer.json();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { email, password } = form.elements;
  try {
    const said = await login(email.value, password.value);
    tell(said.isSuccess ? `Logged in: a ${said.data.tokenType} Token.` : said.errorMessage, !said.isSuccess);
  } catch (error) {
    tell(`The service could not be asked: ${error.message}`, true);
  }
});
