// The scenario with openapi-typescript and openapi-fetch.
import createClient from "openapi-fetch";

import type { paths } from "./made/document";

const [url, email, password, prefix] = process.argv.slice(2) as [string, string, string, string];
const client = createClient<paths>({
  baseUrl: url,
  // filters are parameters of their own: price.gte=1, and not filters[price.gte]=1
  querySerializer: { object: { style: "form", explode: true } },
});

function had<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

async function main(): Promise<void> {
  const login = had(await client.POST("/api/auth/login", { body: { email, password } })).data;
  const tenantId = login.currentTenant?.id ?? "";
  const switched = had(
    await client.POST("/api/auth/switch-tenant", {
      body: { tenantId },
      headers: { Authorization: `Bearer ${login.token}` },
    }),
  ).data;
  const renewed = had(await client.POST("/api/auth/refresh", { body: { refreshToken: switched.refreshToken } })).data;
  const headers = { Authorization: `Bearer ${renewed.token}` };
  if (!(new Date(renewed.expiresAt).getTime() > Date.now())) throw new Error(renewed.expiresAt);

  const items = [1, 2, 3].map((n) => ({ name: `Lamp ${n}`, sku: `${prefix}-${n}`, price: n }));
  had(await client.POST("/api/products/batch", { body: { items }, headers }));

  const seen: (string | undefined)[] = [];
  let cursor: string | undefined;
  do {
    const page = had(
      await client.GET("/api/products", {
        params: {
          query: { pageSize: 2, sort: "sku:asc", fields: "sku", cursor, filters: { "sku.startsWith": prefix, "price.gte": 1 } },
        },
        headers,
      }),
    ).data;
    seen.push(...page.items.map((product) => product.sku));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  if (seen.join() !== items.map((item) => item.sku).join()) throw new Error(`pages had ${seen}`);

  const file = new Blob([`name,sku,price\nCup,${prefix}-9,2.50\n`], { type: "text/csv" });
  const imported = had(
    await client.POST("/api/products/import", {
      body: { file: "", options: { atomic: true } },
      bodySerializer: (body) => {
        const form = new FormData();
        form.append("file", file, "products.csv");
        form.append("options", JSON.stringify(body.options));
        return form;
      },
      headers,
    }),
  ).data;
  if (imported.imported !== 1) throw new Error(JSON.stringify(imported));
  console.log("done");
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
