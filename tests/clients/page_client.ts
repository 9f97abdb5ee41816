// The types of the client for pages (docs/browsers.md): checked, and not run.
import { errorsOf, makeClient, ServiceError } from "./client.js";
import type { Client, Errors, FieldError, Login } from "./client.js";

interface Product {
  id: string;
  name: string;
}

export async function everything(file: File): Promise<FieldError[]> {
  const client: Client = makeClient("https://api.example", { remember: true, onChange: (isLoggedIn) => void isLoggedIn });
  const login: Login = await client.login("ada@example.com", "a password", { preferredTenantId: "1" });
  const [tenant] = login.availableTenants ?? [];
  if (login.requiresTenantSelection && tenant) {
    const name: string = (await client.chooseTenant(tenant.id)).currentTenant.name;
    void name;
  }
  if (!(await client.restore())) await client.refresh();
  const made = await client.data<Product>("/api/products", { body: { name: "Lamp" }, headers: { "If-Match": '"1"' } });
  await client.data(`/api/products/${made.id}`, { method: "DELETE" });
  const report = await client.upload<{ imported: number }>("/api/products/import", file, {
    options: { atomic: true },
    onProgress: (sent, total) => void (sent / total),
    signal: new AbortController().signal,
  });
  void (report.imported + 1);
  try {
    await client.signIn("/api/auth/mfa/verify", { ticket: "t", method: "totp", code: "123456" });
  } catch (error) {
    if (error instanceof ServiceError && error.code === "MFA_REQUIRED") void error.mfa?.ticket;
  }
  const errors: Errors | null = await errorsOf(await client.call("/api/products"));
  await client.logout();
  // @ts-expect-error: an upload takes a file, and no text
  void (() => client.upload("/api/products/import", "name"));
  return errors?.fields ?? [];
}
