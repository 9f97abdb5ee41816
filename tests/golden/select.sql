-- products/{id}?fields=price&include=category
SELECT t."id" AS "id", t."price" AS "price", t1."id" AS "category.id", t1."name" AS "category.name", t1."description" AS "category.description", CASE WHEN t1."created_at"::timestamptz(5) <> t1."created_at" THEN replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."created_at"::timestamptz(0) <> t1."created_at" THEN to_char(t1."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "category.createdAt", CASE WHEN t1."updated_at"::timestamptz(5) <> t1."updated_at" THEN replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."updated_at"::timestamptz(0) <> t1."updated_at" THEN to_char(t1."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "category.updatedAt", t1."created_by" AS "category.createdBy", t1."updated_by" AS "category.updatedBy", t1."is_deleted" AS "category.isDeleted", CASE WHEN t1."deleted_at"::timestamptz(5) <> t1."deleted_at" THEN replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."deleted_at"::timestamptz(0) <> t1."deleted_at" THEN to_char(t1."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "category.deletedAt", t1."deleted_by" AS "category.deletedBy", t1."version" AS "category.version", t.version AS seen
FROM "products" t
LEFT JOIN "categories" t1 ON t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id"
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND t.id = $2

-- reviews? of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."product_id" AS "productId", r."rating" AS "rating", r."author" AS "author", r."text" AS "text", CASE WHEN r."created_at"::timestamptz(5) <> r."created_at" THEN replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."created_at"::timestamptz(0) <> r."created_at" THEN to_char(r."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN r."updated_at"::timestamptz(5) <> r."updated_at" THEN replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."updated_at"::timestamptz(0) <> r."updated_at" THEN to_char(r."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."is_deleted" AS "isDeleted", CASE WHEN r."deleted_at"::timestamptz(5) <> r."deleted_at" THEN replace((r."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."deleted_at"::timestamptz(0) <> r."deleted_at" THEN to_char(r."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "deletedAt", r."deleted_by" AS "deletedBy", r."version" AS "version", CASE WHEN r."the place" = $2::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $2::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $2::int THEN (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $2::int + 1 OFFSET $3::bigint) r) r

-- reviews? of EveryTenant()
SELECT r."id" AS "id", r.tenant_id AS "tenantId", r."product_id" AS "productId", r."rating" AS "rating", r."author" AS "author", r."text" AS "text", CASE WHEN r."created_at"::timestamptz(5) <> r."created_at" THEN replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."created_at"::timestamptz(0) <> r."created_at" THEN to_char(r."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN r."updated_at"::timestamptz(5) <> r."updated_at" THEN replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."updated_at"::timestamptz(0) <> r."updated_at" THEN to_char(r."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."is_deleted" AS "isDeleted", CASE WHEN r."deleted_at"::timestamptz(5) <> r."deleted_at" THEN replace((r."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."deleted_at"::timestamptz(0) <> r."deleted_at" THEN to_char(r."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "deletedAt", r."deleted_by" AS "deletedBy", r."version" AS "version", CASE WHEN r."the place" = $1::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $1::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $1::int THEN (SELECT count(*)
FROM "reviews" t
WHERE NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $1::int + 1 OFFSET $2::bigint) r) r

-- currencies?sort=code&page=100&pageSize=100 of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."code" AS "code", r."name" AS "name", CASE WHEN r."created_at"::timestamptz(5) <> r."created_at" THEN replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."created_at"::timestamptz(0) <> r."created_at" THEN to_char(r."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN r."updated_at"::timestamptz(5) <> r."updated_at" THEN replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."updated_at"::timestamptz(0) <> r."updated_at" THEN to_char(r."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."version" AS "version", CASE WHEN r."the place" = $1::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $1::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $1::int THEN (SELECT count(*)
FROM "currencies" t
WHERE true) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, k."sort 1", k."sort 2"
FROM (SELECT t.id, t."code" AS "sort 1", t."id" AS "sort 2"
FROM "currencies" t
WHERE true
ORDER BY t."code", t."id"
LIMIT $1::int + 1 OFFSET $2::bigint) k
JOIN "currencies" t ON t.id = k.id
ORDER BY k."sort 1", k."sort 2") r) r

-- reviews?page=100&pageSize=100&fields=rating of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."rating" AS "rating", CASE WHEN r."the place" = $2::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $2::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $2::int THEN (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
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
ORDER BY k."sort 1" DESC, k."sort 2" DESC) r) r

-- products?minPrice=1&createdBefore=2026-01-01&status=draft,live&name.contains=a&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."name" AS "name", CASE WHEN r."the place" = $6::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $6::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $6::int THEN (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND t."price" >= $2
AND t."created_at" < $3
AND t."status" = ANY ($4)
AND lower(t."name" COLLATE "default") LIKE lower($5::text COLLATE "default")) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND t."price" >= $2
AND t."created_at" < $3
AND t."status" = ANY ($4)
AND lower(t."name" COLLATE "default") LIKE lower($5::text COLLATE "default")
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $6::int + 1 OFFSET $7::bigint) r) r

-- categories?name=books&name.in=a,b&description.isNull=true&includeDeleted=true of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."name" AS "name", r."description" AS "description", CASE WHEN r."created_at"::timestamptz(5) <> r."created_at" THEN replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."created_at"::timestamptz(0) <> r."created_at" THEN to_char(r."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN r."updated_at"::timestamptz(5) <> r."updated_at" THEN replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."updated_at"::timestamptz(0) <> r."updated_at" THEN to_char(r."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "updatedAt", r."created_by" AS "createdBy", r."updated_by" AS "updatedBy", r."is_deleted" AS "isDeleted", CASE WHEN r."deleted_at"::timestamptz(5) <> r."deleted_at" THEN replace((r."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN r."deleted_at"::timestamptz(0) <> r."deleted_at" THEN to_char(r."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((r."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "deletedAt", r."deleted_by" AS "deletedBy", r."version" AS "version", CASE WHEN r."the place" = $5::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $5::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $5::int THEN (SELECT count(*)
FROM "categories" t
WHERE t.tenant_id = $1
AND lower(t."name" COLLATE "default") = lower($2::text COLLATE "default")
AND lower(t."name" COLLATE "default") = ANY (ARRAY(SELECT lower(one COLLATE "default")
FROM unnest($3::text[]) one))
AND (t."description" IS NULL) = $4) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "categories" t
WHERE t.tenant_id = $1
AND lower(t."name" COLLATE "default") = lower($2::text COLLATE "default")
AND lower(t."name" COLLATE "default") = ANY (ARRAY(SELECT lower(one COLLATE "default")
FROM unnest($3::text[]) one))
AND (t."description" IS NULL) = $4
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $5::int + 1 OFFSET $6::bigint) r) r

-- products?search=red lamp&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."name" AS "name", CASE WHEN r."the place" = $4::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $4::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $4::int THEN (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND (lower(t."name" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($2::text COLLATE "default"))
AND (lower(t."name" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($3::text COLLATE "default"))) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND (lower(t."name" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($2::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($2::text COLLATE "default"))
AND (lower(t."name" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."sku" COLLATE "default") LIKE lower($3::text COLLATE "default") OR lower(t."description" COLLATE "default") LIKE lower($3::text COLLATE "default"))
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $4::int + 1 OFFSET $5::bigint) r) r

-- products?category.name=a&reviews.rating.gte=4&reviews.author.ne=Bob&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."name" AS "name", CASE WHEN r."the place" = $5::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $5::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $5::int THEN (SELECT count(*)
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
AND t2."author" <> $4)) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
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
LIMIT $5::int + 1 OFFSET $6::bigint) r) r

-- products?sort=category.name:desc,price&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."name" AS "name", CASE WHEN r."the place" = $2::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $2::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" = $2::int THEN r."sort 3" END AS "sort 3", CASE WHEN r."the place" > $2::int THEN (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t1."name" AS "sort 1", t."price" AS "sort 2", t."id" AS "sort 3"
FROM "products" t
LEFT JOIN "categories" t1 ON t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = t."category_id"
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t1."name" DESC, t."price", t."id"
LIMIT $2::int + 1 OFFSET $3::bigint) r) r

-- products?sort=category.name:desc,price&fields=name of EveryTenant()
SELECT r."id" AS "id", r.tenant_id AS "tenantId", r."name" AS "name", CASE WHEN r."the place" = $1::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $1::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" = $1::int THEN r."sort 3" END AS "sort 3", CASE WHEN r."the place" > $1::int THEN (SELECT count(*)
FROM "products" t
WHERE NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t1."name" AS "sort 1", t."price" AS "sort 2", t."id" AS "sort 3"
FROM "products" t
LEFT JOIN "categories" t1 ON NOT t1.is_deleted
AND t1.tenant_id = t.tenant_id
AND t1.id = t."category_id"
WHERE NOT t.is_deleted
ORDER BY t1."name" DESC, t."price", t."id"
LIMIT $1::int + 1 OFFSET $2::bigint) r) r

-- reviews?include=product.category&fields=rating of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."rating" AS "rating", t1."id" AS "product.id", t1."name" AS "product.name", t1."sku" AS "product.sku", t1."description" AS "product.description", t1."price" AS "product.price", t1."stock" AS "product.stock", t1."status" AS "product.status", t1."category_id" AS "product.categoryId", CASE WHEN t1."released_at"::timestamptz(5) <> t1."released_at" THEN replace((t1."released_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."released_at"::timestamptz(0) <> t1."released_at" THEN to_char(t1."released_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."released_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "product.releasedAt", CASE WHEN t1."created_at"::timestamptz(5) <> t1."created_at" THEN replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."created_at"::timestamptz(0) <> t1."created_at" THEN to_char(t1."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "product.createdAt", CASE WHEN t1."updated_at"::timestamptz(5) <> t1."updated_at" THEN replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."updated_at"::timestamptz(0) <> t1."updated_at" THEN to_char(t1."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "product.updatedAt", t1."created_by" AS "product.createdBy", t1."updated_by" AS "product.updatedBy", t1."is_deleted" AS "product.isDeleted", CASE WHEN t1."deleted_at"::timestamptz(5) <> t1."deleted_at" THEN replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."deleted_at"::timestamptz(0) <> t1."deleted_at" THEN to_char(t1."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "product.deletedAt", t1."deleted_by" AS "product.deletedBy", t1."version" AS "product.version", t2."id" AS "product.category.id", t2."name" AS "product.category.name", t2."description" AS "product.category.description", CASE WHEN t2."created_at"::timestamptz(5) <> t2."created_at" THEN replace((t2."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t2."created_at"::timestamptz(0) <> t2."created_at" THEN to_char(t2."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t2."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "product.category.createdAt", CASE WHEN t2."updated_at"::timestamptz(5) <> t2."updated_at" THEN replace((t2."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t2."updated_at"::timestamptz(0) <> t2."updated_at" THEN to_char(t2."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t2."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "product.category.updatedAt", t2."created_by" AS "product.category.createdBy", t2."updated_by" AS "product.category.updatedBy", t2."is_deleted" AS "product.category.isDeleted", CASE WHEN t2."deleted_at"::timestamptz(5) <> t2."deleted_at" THEN replace((t2."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t2."deleted_at"::timestamptz(0) <> t2."deleted_at" THEN to_char(t2."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t2."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "product.category.deletedAt", t2."deleted_by" AS "product.category.deletedBy", t2."version" AS "product.category.version", CASE WHEN r."the place" = $2::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $2::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $2::int THEN (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $2::int + 1 OFFSET $3::bigint) r) r
LEFT JOIN "products" t1 ON t1.tenant_id = $1
AND NOT t1.is_deleted
AND t1.id = r."product_id"
LEFT JOIN "categories" t2 ON t2.tenant_id = $1
AND NOT t2.is_deleted
AND t2.id = t1."category_id"
ORDER BY r."the place"

-- categories?include=products.reviews&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'))
SELECT r."id" AS "id", r."name" AS "name", (SELECT coalesce(array_to_json(array_agg((SELECT row_to_json(o)
FROM (SELECT t1."id" AS "id", t1."name" AS "name", t1."sku" AS "sku", t1."description" AS "description", t1."price" AS "price", t1."stock" AS "stock", t1."status" AS "status", t1."category_id" AS "categoryId", CASE WHEN t1."released_at"::timestamptz(5) <> t1."released_at" THEN replace((t1."released_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."released_at"::timestamptz(0) <> t1."released_at" THEN to_char(t1."released_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."released_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "releasedAt", CASE WHEN t1."created_at"::timestamptz(5) <> t1."created_at" THEN replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."created_at"::timestamptz(0) <> t1."created_at" THEN to_char(t1."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN t1."updated_at"::timestamptz(5) <> t1."updated_at" THEN replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."updated_at"::timestamptz(0) <> t1."updated_at" THEN to_char(t1."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "updatedAt", t1."created_by" AS "createdBy", t1."updated_by" AS "updatedBy", t1."is_deleted" AS "isDeleted", CASE WHEN t1."deleted_at"::timestamptz(5) <> t1."deleted_at" THEN replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."deleted_at"::timestamptz(0) <> t1."deleted_at" THEN to_char(t1."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "deletedAt", t1."deleted_by" AS "deletedBy", t1."version" AS "version", (SELECT coalesce(array_to_json(array_agg((SELECT row_to_json(o)
FROM (SELECT t2."id" AS "id", t2."product_id" AS "productId", t2."rating" AS "rating", t2."author" AS "author", t2."text" AS "text", CASE WHEN t2."created_at"::timestamptz(5) <> t2."created_at" THEN replace((t2."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t2."created_at"::timestamptz(0) <> t2."created_at" THEN to_char(t2."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t2."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN t2."updated_at"::timestamptz(5) <> t2."updated_at" THEN replace((t2."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t2."updated_at"::timestamptz(0) <> t2."updated_at" THEN to_char(t2."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t2."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "updatedAt", t2."created_by" AS "createdBy", t2."updated_by" AS "updatedBy", t2."is_deleted" AS "isDeleted", CASE WHEN t2."deleted_at"::timestamptz(5) <> t2."deleted_at" THEN replace((t2."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t2."deleted_at"::timestamptz(0) <> t2."deleted_at" THEN to_char(t2."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t2."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "deletedAt", t2."deleted_by" AS "deletedBy", t2."version" AS "version") o))), '[]'::json)
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
AND t1."category_id" = r.id OFFSET 100) AS "productsHasMore", CASE WHEN r."the place" = $2::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $2::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $2::int THEN (SELECT count(*)
FROM "categories" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "categories" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $2::int + 1 OFFSET $3::bigint) r) r

-- categories?include=products&fields=name of EveryTenant()
SELECT r."id" AS "id", r.tenant_id AS "tenantId", r."name" AS "name", (SELECT coalesce(array_to_json(array_agg((SELECT row_to_json(o)
FROM (SELECT t1."id" AS "id", t1.tenant_id AS "tenantId", t1."name" AS "name", t1."sku" AS "sku", t1."description" AS "description", t1."price" AS "price", t1."stock" AS "stock", t1."status" AS "status", t1."category_id" AS "categoryId", CASE WHEN t1."released_at"::timestamptz(5) <> t1."released_at" THEN replace((t1."released_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."released_at"::timestamptz(0) <> t1."released_at" THEN to_char(t1."released_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."released_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "releasedAt", CASE WHEN t1."created_at"::timestamptz(5) <> t1."created_at" THEN replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."created_at"::timestamptz(0) <> t1."created_at" THEN to_char(t1."created_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."created_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN t1."updated_at"::timestamptz(5) <> t1."updated_at" THEN replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."updated_at"::timestamptz(0) <> t1."updated_at" THEN to_char(t1."updated_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."updated_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "updatedAt", t1."created_by" AS "createdBy", t1."updated_by" AS "updatedBy", t1."is_deleted" AS "isDeleted", CASE WHEN t1."deleted_at"::timestamptz(5) <> t1."deleted_at" THEN replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || 'Z' WHEN t1."deleted_at"::timestamptz(0) <> t1."deleted_at" THEN to_char(t1."deleted_at" AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace((t1."deleted_at" AT TIME ZONE interval '0')::text, ' ', 'T') || '.000000Z' END AS "deletedAt", t1."deleted_by" AS "deletedBy", t1."version" AS "version") o))), '[]'::json)
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
AND t1."category_id" = r.id OFFSET 100) AS "productsHasMore", CASE WHEN r."the place" = $1::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $1::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" > $1::int THEN (SELECT count(*)
FROM "categories" t
WHERE NOT t.is_deleted) END AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "categories" t
WHERE NOT t.is_deleted
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $1::int + 1 OFFSET $2::bigint) r) r

-- reviews?sort=createdAt:desc&fields=rating&cursor=…
SELECT r."id" AS "id", r."rating" AS "rating", CASE WHEN r."the place" = $4::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $4::int THEN r."sort 2" END AS "sort 2", (SELECT count(*)
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
FROM (SELECT t.*, t."created_at" AS "sort 1", t."id" AS "sort 2"
FROM "reviews" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted
AND (t."created_at", t."id") < ($2, $3)
ORDER BY t."created_at" DESC, t."id" DESC
LIMIT $4::int + 1) r) r

-- products?sort=category.name,price:desc&fields=name&cursor=…
SELECT r."id" AS "id", r."name" AS "name", CASE WHEN r."the place" = $4::int THEN r."sort 1" END AS "sort 1", CASE WHEN r."the place" = $4::int THEN r."sort 2" END AS "sort 2", CASE WHEN r."the place" = $4::int THEN r."sort 3" END AS "sort 3", (SELECT count(*)
FROM "products" t
WHERE t.tenant_id = $1
AND NOT t.is_deleted) AS total
FROM (SELECT r.*, row_number() OVER () AS "the place"
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
LIMIT $4::int + 1) r) r

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
