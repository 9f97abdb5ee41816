-- products/{id}?fields=price&include=category
SELECT t.version AS version, (SELECT row_to_json(o)
FROM (SELECT t."id" AS "id", t."price" AS "price", (SELECT (SELECT row_to_json(o)
FROM (SELECT t1."id" AS "id", t1."name" AS "name", t1."description" AS "description", to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(t1."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", t1."created_by" AS "createdBy", t1."updated_by" AS "updatedBy", t1."is_deleted" AS "isDeleted", to_char(t1."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", t1."deleted_by" AS "deletedBy", t1."version" AS "version") o)
FROM "categories" t1
WHERE t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id") AS "category") o) AS body
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND t.id = $2

-- reviews? of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$2::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $2::int OR count(*) = 0
AND $3::bigint > 0 THEN (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$2::int] AS "sort 1", (array_agg(p."sort 2"))[$2::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."product_id" AS "productId", r."rating" AS "rating", r."author" AS "author", r."text" AS "text", to_char(r."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(r."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."is_deleted" AS "isDeleted", to_char(r."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", r."deleted_by" AS "deletedBy", r."version" AS "version") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $2::int + 1 OFFSET $3::bigint) r) p

-- reviews? of EveryTenant()
SELECT coalesce(array_to_json((array_agg(p.body))[1:$1::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $1::int OR count(*) = 0
AND $2::bigint > 0 THEN (SELECT count(*)
FROM "reviews" t
WHERE NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$1::int] AS "sort 1", (array_agg(p."sort 2"))[$1::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r.tenant_id AS "tenantId", r."product_id" AS "productId", r."rating" AS "rating", r."author" AS "author", r."text" AS "text", to_char(r."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(r."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."is_deleted" AS "isDeleted", to_char(r."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", r."deleted_by" AS "deletedBy", r."version" AS "version") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $1::int + 1 OFFSET $2::bigint) r) p

-- currencies?sort=code&page=100&pageSize=100 of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$1::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $1::int OR count(*) = 0
AND $2::bigint > 0 THEN (SELECT count(*)
FROM "currencies" t
WHERE true) END AS total, (array_agg(p."sort 1"))[$1::int] AS "sort 1", (array_agg(p."sort 2"))[$1::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."code" AS "code", r."name" AS "name", to_char(r."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(r."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."version" AS "version") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, k."sort 1", k."sort 2"
FROM (SELECT t.id, t."code" AS "sort 1", t."id" AS "sort 2"
FROM "currencies" t
WHERE true
ORDER BY t."code", t."id"
LIMIT $1::int + 1 OFFSET $2::bigint) k
JOIN "currencies" t ON t.id = k.id
ORDER BY k."sort 1", k."sort 2") r) p

-- reviews?page=100&pageSize=100&fields=rating of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$2::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $2::int OR count(*) = 0
AND $3::bigint > 0 THEN (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$2::int] AS "sort 1", (array_agg(p."sort 2"))[$2::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."rating" AS "rating") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, k."sort 1", k."sort 2"
FROM (SELECT t.tenant_id, t.id, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $2::int + 1 OFFSET $3::bigint) k
JOIN "reviews" t ON t.tenant_id = $1
AND NOT t.is_deleted
AND t.tenant_id = k.tenant_id
AND t.id = k.id
ORDER BY k."sort 1" DESC, k."sort 2" DESC) r) p

-- products?minPrice=1&createdBefore=2026-01-01&status=draft,live&name.contains=a&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$6::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $6::int OR count(*) = 0
AND $7::bigint > 0 THEN (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND t."price" >= $2
AND t."created_at" < $3
AND t."status" = ANY ($4)
AND lower(t."name" COLLATE "default") LIKE lower($5::text COLLATE "default")) END AS total, (array_agg(p."sort 1"))[$6::int] AS "sort 1", (array_agg(p."sort 2"))[$6::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."name" AS "name") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND t."price" >= $2
AND t."created_at" < $3
AND t."status" = ANY ($4)
AND lower(t."name" COLLATE "default") LIKE lower($5::text COLLATE "default")
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $6::int + 1 OFFSET $7::bigint) r) p

-- categories?name=books&name.in=a,b&description.isNull=true&includeDeleted=true of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$5::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $5::int OR count(*) = 0
AND $6::bigint > 0 THEN (SELECT count(*)
FROM "categories" t
WHERE t.tenant_id = $1
AND lower(t."name" COLLATE "default") = lower($2::text COLLATE "default")
AND lower(t."name" COLLATE "default") = ANY (ARRAY(SELECT lower(one COLLATE "default")
FROM unnest($3::text[]) one))
AND (t."description" IS NULL) = $4) END AS total, (array_agg(p."sort 1"))[$5::int] AS "sort 1", (array_agg(p."sort 2"))[$5::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."name" AS "name", r."description" AS "description", to_char(r."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(r."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."is_deleted" AS "isDeleted", to_char(r."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", r."deleted_by" AS "deletedBy", r."version" AS "version") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "categories" t
WHERE t.tenant_id = $1
AND lower(t."name" COLLATE "default") = lower($2::text COLLATE "default")
AND lower(t."name" COLLATE "default") = ANY (ARRAY(SELECT lower(one COLLATE "default")
FROM unnest($3::text[]) one))
AND (t."description" IS NULL) = $4
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $5::int + 1 OFFSET $6::bigint) r) p

-- products?search=red lamp&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$4::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $4::int OR count(*) = 0
AND $5::bigint > 0 THEN (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND (lower(t."name" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($2::text COLLATE "default"))
AND (lower(t."name" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($3::text COLLATE "default"))) END AS total, (array_agg(p."sort 1"))[$4::int] AS "sort 1", (array_agg(p."sort 2"))[$4::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."name" AS "name") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND (lower(t."name" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($2::text COLLATE "default"))
AND (lower(t."name" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($3::text COLLATE "default"))
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $4::int + 1 OFFSET $5::bigint) r) p

-- products?category.name=a&reviews.rating.gte=4&reviews.author.ne=Bob&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$5::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $5::int OR count(*) = 0
AND $6::bigint > 0 THEN (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND EXISTS (SELECT
FROM "categories" t1
WHERE t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id"
AND lower(t1."name" COLLATE "default") = lower($2::text COLLATE "default"))
AND EXISTS (SELECT
FROM "reviews" t2
WHERE t2.tenant_id = $1
AND NOT t2.is_deleted
AND t2."product_id" = t.id
AND t2."rating" >= $3
AND t2."author" <> $4)) END AS total, (array_agg(p."sort 1"))[$5::int] AS "sort 1", (array_agg(p."sort 2"))[$5::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."name" AS "name") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND EXISTS (SELECT
FROM "categories" t1
WHERE t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id"
AND lower(t1."name" COLLATE "default") = lower($2::text COLLATE "default"))
AND EXISTS (SELECT
FROM "reviews" t2
WHERE t2.tenant_id = $1
AND NOT t2.is_deleted
AND t2."product_id" = t.id
AND t2."rating" >= $3
AND t2."author" <> $4)
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $5::int + 1 OFFSET $6::bigint) r) p

-- products?sort=category.name:desc,price&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$2::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $2::int OR count(*) = 0
AND $3::bigint > 0 THEN (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$2::int] AS "sort 1", (array_agg(p."sort 2"))[$2::int] AS "sort 2", (array_agg(p."sort 3"))[$2::int] AS "sort 3"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."name" AS "name") o) AS body, r."sort 1", r."sort 2", r."sort 3"
FROM (SELECT t.*, t1."name" AS "sort 1", t."price" AS "sort 2", t."id" AS "sort 3"
FROM "products" t
LEFT JOIN "categories" t1 ON t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id"
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t1."name" DESC, t."price", t."id"
LIMIT $2::int + 1 OFFSET $3::bigint) r) p

-- products?sort=category.name:desc,price&fields=name of EveryTenant()
SELECT coalesce(array_to_json((array_agg(p.body))[1:$1::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $1::int OR count(*) = 0
AND $2::bigint > 0 THEN (SELECT count(*)
FROM "products" t
WHERE NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$1::int] AS "sort 1", (array_agg(p."sort 2"))[$1::int] AS "sort 2", (array_agg(p."sort 3"))[$1::int] AS "sort 3"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r.tenant_id AS "tenantId", r."name" AS "name") o) AS body, r."sort 1", r."sort 2", r."sort 3"
FROM (SELECT t.*, t1."name" AS "sort 1", t."price" AS "sort 2", t."id" AS "sort 3"
FROM "products" t
LEFT JOIN "categories" t1 ON NOT t1.is_deleted
AND t1.tenant_id = t.tenant_id
AND t1.id = t."category_id"
WHERE NOT t.is_deleted
ORDER BY t1."name" DESC, t."price", t."id"
LIMIT $1::int + 1 OFFSET $2::bigint) r) p

-- reviews?include=product.category&fields=rating of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$2::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $2::int OR count(*) = 0
AND $3::bigint > 0 THEN (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$2::int] AS "sort 1", (array_agg(p."sort 2"))[$2::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."rating" AS "rating", (SELECT (SELECT row_to_json(o)
FROM (SELECT t1."id" AS "id", t1."name" AS "name", t1."sku" AS "sku", t1."description" AS "description", t1."price" AS "price", t1."stock" AS "stock", t1."status" AS "status", t1."category_id" AS "categoryId", to_char(t1."released_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "releasedAt", to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(t1."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", t1."created_by" AS "createdBy", t1."updated_by" AS "updatedBy", t1."is_deleted" AS "isDeleted", to_char(t1."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", t1."deleted_by" AS "deletedBy", t1."version" AS "version", (SELECT (SELECT row_to_json(o)
FROM (SELECT t2."id" AS "id", t2."name" AS "name", t2."description" AS "description", to_char(t2."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(t2."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", t2."created_by" AS "createdBy", t2."updated_by" AS "updatedBy", t2."is_deleted" AS "isDeleted", to_char(t2."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", t2."deleted_by" AS "deletedBy", t2."version" AS "version") o)
FROM "categories" t2
WHERE t2.tenant_id = $1
AND NOT t2.is_deleted
AND t2.id = t1."category_id") AS "category") o)
FROM "products" t1
WHERE t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = r."product_id") AS "product") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $2::int + 1 OFFSET $3::bigint) r) p

-- categories?include=products.reviews&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT coalesce(array_to_json((array_agg(p.body))[1:$2::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $2::int OR count(*) = 0
AND $3::bigint > 0 THEN (SELECT count(*)
FROM "categories" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$2::int] AS "sort 1", (array_agg(p."sort 2"))[$2::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."name" AS "name", (SELECT coalesce(array_to_json(array_agg((SELECT row_to_json(o)
FROM (SELECT t1."id" AS "id", t1."name" AS "name", t1."sku" AS "sku", t1."description" AS "description", t1."price" AS "price", t1."stock" AS "stock", t1."status" AS "status", t1."category_id" AS "categoryId", to_char(t1."released_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "releasedAt", to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(t1."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", t1."created_by" AS "createdBy", t1."updated_by" AS "updatedBy", t1."is_deleted" AS "isDeleted", to_char(t1."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", t1."deleted_by" AS "deletedBy", t1."version" AS "version", (SELECT coalesce(array_to_json(array_agg((SELECT row_to_json(o)
FROM (SELECT t2."id" AS "id", t2."product_id" AS "productId", t2."rating" AS "rating", t2."author" AS "author", t2."text" AS "text", to_char(t2."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(t2."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", t2."created_by" AS "createdBy", t2."updated_by" AS "updatedBy", t2."is_deleted" AS "isDeleted", to_char(t2."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", t2."deleted_by" AS "deletedBy", t2."version" AS "version") o))), '[]'::json)
FROM (SELECT t2.*
FROM "reviews" t2
WHERE t2.tenant_id = $1
AND NOT t2.is_deleted
AND t2."product_id" = t1.id
ORDER BY t2."created_at" DESC, t2."id" DESC
LIMIT 100) t2) AS "reviews", EXISTS (SELECT
FROM "reviews" t2
WHERE t2.tenant_id = $1
AND NOT t2.is_deleted
AND t2."product_id" = t1.id OFFSET 100) AS "reviewsHasMore") o))), '[]'::json)
FROM (SELECT t1.*
FROM "products" t1
WHERE t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1."category_id" = r.id
ORDER BY t1."created_at" DESC, t1."id" DESC
LIMIT 100) t1) AS "products", EXISTS (SELECT
FROM "products" t1
WHERE t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1."category_id" = r.id OFFSET 100) AS "productsHasMore") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "categories" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $2::int + 1 OFFSET $3::bigint) r) p

-- categories?include=products&fields=name of EveryTenant()
SELECT coalesce(array_to_json((array_agg(p.body))[1:$1::int]), '[]'::json) AS items, count(*) AS found, CASE WHEN count(*) > $1::int OR count(*) = 0
AND $2::bigint > 0 THEN (SELECT count(*)
FROM "categories" t
WHERE NOT t.is_deleted) END AS total, (array_agg(p."sort 1"))[$1::int] AS "sort 1", (array_agg(p."sort 2"))[$1::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r.tenant_id AS "tenantId", r."name" AS "name", (SELECT coalesce(array_to_json(array_agg((SELECT row_to_json(o)
FROM (SELECT t1."id" AS "id", t1.tenant_id AS "tenantId", t1."name" AS "name", t1."sku" AS "sku", t1."description" AS "description", t1."price" AS "price", t1."stock" AS "stock", t1."status" AS "status", t1."category_id" AS "categoryId", to_char(t1."released_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "releasedAt", to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", to_char(t1."updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "updatedAt", t1."created_by" AS "createdBy", t1."updated_by" AS "updatedBy", t1."is_deleted" AS "isDeleted", to_char(t1."deleted_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "deletedAt", t1."deleted_by" AS "deletedBy", t1."version" AS "version") o))), '[]'::json)
FROM (SELECT t1.*
FROM "products" t1
WHERE NOT t1.is_deleted
AND t1.tenant_id = r.tenant_id
AND t1."category_id" = r.id
ORDER BY t1."created_at" DESC, t1."id" DESC
LIMIT 100) t1) AS "products", EXISTS (SELECT
FROM "products" t1
WHERE NOT t1.is_deleted
AND t1.tenant_id = r.tenant_id
AND t1."category_id" = r.id OFFSET 100) AS "productsHasMore") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "categories" t
WHERE NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $1::int + 1 OFFSET $2::bigint) r) p

-- reviews?sort=createdAt:desc&fields=rating&cursor=…
SELECT coalesce(array_to_json((array_agg(p.body))[1:$4::int]), '[]'::json) AS items, count(*) AS found, (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) AS total, (array_agg(p."sort 1"))[$4::int] AS "sort 1", (array_agg(p."sort 2"))[$4::int] AS "sort 2"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."rating" AS "rating") o) AS body, r."sort 1", r."sort 2"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND (t."created_at", t."id") < ($2, $3)
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $4::int + 1) r) p

-- products?sort=category.name,price:desc&fields=name&cursor=…
SELECT coalesce(array_to_json((array_agg(p.body))[1:$4::int]), '[]'::json) AS items, count(*) AS found, (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) AS total, (array_agg(p."sort 1"))[$4::int] AS "sort 1", (array_agg(p."sort 2"))[$4::int] AS "sort 2", (array_agg(p."sort 3"))[$4::int] AS "sort 3"
FROM (SELECT (SELECT row_to_json(o)
FROM (SELECT r."id" AS "id", r."name" AS "name") o) AS body, r."sort 1", r."sort 2", r."sort 3"
FROM (SELECT t.*, t1."name" AS "sort 1", t."price" AS "sort 2", t."id" AS "sort 3"
FROM "products" t
LEFT JOIN "categories" t1 ON t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id"
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND (false OR t1."name" IS NULL
AND t."price" < $2 OR t1."name" IS NULL
AND t."price" = $2
AND t."id" < $3)
ORDER BY t1."name", t."price" DESC, t."id" DESC
LIMIT $4::int + 1) r) p

-- the total of products?category.name=a&search=lamp
SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND EXISTS (SELECT
FROM "categories" t1
WHERE t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id"
AND lower(t1."name" COLLATE "default") = lower($2::text COLLATE "default"))
AND (lower(t."name" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($3::text COLLATE "default"))
