// The scenario with @hey-api/openapi-ts.
import { authLogin, authRefresh, authSwitchTenant, productsCreateBatch, productsImport, productsPage } from "./made/hey";
import { client } from "./made/hey/client.gen";

const [url, email, password, prefix] = process.argv.slice(2) as [string, string, string, string];
let token: string | undefined;
client.setConfig({
  baseUrl: url,
  auth: () => token,
  // filters are parameters of their own: price.gte=1, and not filters[price.gte]=1
  querySerializer: { object: { style: "form", explode: true } },
});

async function main(): Promise<void> {
  const login = (await authLogin({ body: { email, password }, throwOnError: true })).data.data;
  token = login.token;
  const tenantId = login.currentTenant?.id ?? "";
  const switched = (await authSwitchTenant({ body: { tenantId }, throwOnError: true })).data.data;
  const { refreshToken } = switched;
  const renewed = (await authRefresh({ body: { refreshToken }, throwOnError: true })).data.data;
  token = renewed.token;

  const items = [1, 2, 3].map((n) => ({ name: `Lamp ${n}`, sku: `${prefix}-${n}`, price: n }));
  await productsCreateBatch({ body: { items }, throwOnError: true });

  const seen: (string | undefined)[] = [];
  let cursor: string | undefined;
  do {
    const filters = { "sku.startsWith": prefix, "price.gte": 1 };
    const query = { pageSize: 2, sort: "sku:asc", fields: "sku", filters, ...(cursor === undefined ? {} : { cursor }) };
    const page = (await productsPage({ query, throwOnError: true })).data.data;
    seen.push(...page.items.map((product) => product.sku));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  if (seen.join() !== items.map((item) => item.sku).join()) throw new Error(`pages had ${seen}`);

  const file = new File([`name,sku,price\nCup,${prefix}-9,2.50\n`], "products.csv", { type: "text/csv" });
  const imported = (await productsImport({ body: { file, options: { atomic: true } }, throwOnError: true })).data.data;
  if (imported.imported !== 1) throw new Error(JSON.stringify(imported));
  console.log("done");
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
