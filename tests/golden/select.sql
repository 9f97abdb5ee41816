-- products/{id}?fields=price&include=category
SELECT t.id AS id, t.price AS price, t1.id AS "category.id", t1.name AS "category.name", t1.description AS "category.description", CASE WHEN (CAST(t1.created_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.created_at) THEN replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.created_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.created_at) THEN to_char(t1.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "category.createdAt", CASE WHEN (CAST(t1.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.updated_at) THEN replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.updated_at) THEN to_char(t1.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "category.updatedAt", t1.created_by AS "category.createdBy", t1.updated_by AS "category.updatedBy", t1.is_deleted AS "category.isDeleted", CASE WHEN (CAST(t1.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.deleted_at) THEN replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.deleted_at) THEN to_char(t1.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "category.deletedAt", t1.deleted_by AS "category.deletedBy", t1.version AS "category.version", t.version AS seen
FROM products AS t
LEFT OUTER JOIN categories AS t1 ON t1.tenant_id = $1::UUID
AND NOT t1.is_deleted
AND t1.id = t.category_id
WHERE t.tenant_id = $1::UUID
AND NOT t.is_deleted
AND t.id = $2::UUID

-- reviews? of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.product_id AS "productId", r.rating AS rating, r.author AS author, r.text AS text, CASE WHEN (CAST(r.created_at AS TIMESTAMP(5) WITH TIME ZONE) != r.created_at) THEN replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.created_at AS TIMESTAMP(0) WITH TIME ZONE) != r.created_at) THEN to_char(r.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN (CAST(r.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != r.updated_at) THEN replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != r.updated_at) THEN to_char(r.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "updatedAt", r.created_by AS "createdBy", r.updated_by AS "updatedBy", r.is_deleted AS "isDeleted", CASE WHEN (CAST(r.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != r.deleted_at) THEN replace(CAST(r.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != r.deleted_at) THEN to_char(r.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "deletedAt", r.deleted_by AS "deletedBy", r.version AS version, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted) END AS total
FROM (SELECT r.id AS id, r.product_id AS product_id, r.rating AS rating, r.author AS author, r.text AS text, r.created_at AS created_at, r.updated_at AS updated_at, r.created_by AS created_by, r.updated_by AS updated_by, r.is_deleted AS is_deleted, r.deleted_at AS deleted_at, r.deleted_by AS deleted_by, r.version AS version, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.product_id AS product_id, t.rating AS rating, t.author AS author, t.text AS text, t.created_at AS created_at, t.updated_at AS updated_at, t.created_by AS created_by, t.updated_by AS updated_by, t.is_deleted AS is_deleted, t.deleted_at AS deleted_at, t.deleted_by AS deleted_by, t.version AS version, t.created_at AS "sort 1", t.id AS "sort 2"
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $3::BIGINT) AS r) AS r
WHERE $4::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- reviews? of EveryTenant()
SELECT r.id AS id, r.tenant_id AS "tenantId", r.product_id AS "productId", r.rating AS rating, r.author AS author, r.text AS text, CASE WHEN (CAST(r.created_at AS TIMESTAMP(5) WITH TIME ZONE) != r.created_at) THEN replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.created_at AS TIMESTAMP(0) WITH TIME ZONE) != r.created_at) THEN to_char(r.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN (CAST(r.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != r.updated_at) THEN replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != r.updated_at) THEN to_char(r.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "updatedAt", r.created_by AS "createdBy", r.updated_by AS "updatedBy", r.is_deleted AS "isDeleted", CASE WHEN (CAST(r.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != r.deleted_at) THEN replace(CAST(r.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != r.deleted_at) THEN to_char(r.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "deletedAt", r.deleted_by AS "deletedBy", r.version AS version, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM reviews AS t
WHERE NOT t.is_deleted) END AS total
FROM (SELECT r.tenant_id AS tenant_id, r.id AS id, r.product_id AS product_id, r.rating AS rating, r.author AS author, r.text AS text, r.created_at AS created_at, r.updated_at AS updated_at, r.created_by AS created_by, r.updated_by AS updated_by, r.is_deleted AS is_deleted, r.deleted_at AS deleted_at, r.deleted_by AS deleted_by, r.version AS version, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.tenant_id AS tenant_id, t.id AS id, t.product_id AS product_id, t.rating AS rating, t.author AS author, t.text AS text, t.created_at AS created_at, t.updated_at AS updated_at, t.created_by AS created_by, t.updated_by AS updated_by, t.is_deleted AS is_deleted, t.deleted_at AS deleted_at, t.deleted_by AS deleted_by, t.version AS version, t.created_at AS "sort 1", t.id AS "sort 2"
FROM reviews AS t
WHERE NOT t.is_deleted
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $2::BIGINT) AS r) AS r
WHERE $3::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- currencies?sort=code&page=100&pageSize=100 of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.code AS code, r.name AS name, CASE WHEN (CAST(r.created_at AS TIMESTAMP(5) WITH TIME ZONE) != r.created_at) THEN replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.created_at AS TIMESTAMP(0) WITH TIME ZONE) != r.created_at) THEN to_char(r.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN (CAST(r.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != r.updated_at) THEN replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != r.updated_at) THEN to_char(r.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "updatedAt", r.created_by AS "createdBy", r.updated_by AS "updatedBy", r.version AS version, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM currencies AS t) END AS total
FROM (SELECT r.id AS id, r.code AS code, r.name AS name, r.created_at AS created_at, r.updated_at AS updated_at, r.created_by AS created_by, r.updated_by AS updated_by, r.version AS version, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.code AS code, t.name AS name, t.created_at AS created_at, t.updated_at AS updated_at, t.created_by AS created_by, t.updated_by AS updated_by, t.version AS version, k."sort 1" AS "sort 1", k."sort 2" AS "sort 2"
FROM (SELECT t.id AS id, t.code AS "sort 1", t.id AS "sort 2"
FROM currencies AS t
ORDER BY t.code, t.id
LIMIT $1::INTEGER + 1 OFFSET $2::BIGINT) AS k
JOIN currencies AS t ON t.id = k.id
ORDER BY k."sort 1", k."sort 2") AS r) AS r
WHERE $3::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- reviews?page=100&pageSize=100&fields=rating of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.rating AS rating, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted) END AS total
FROM (SELECT r.id AS id, r.rating AS rating, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.rating AS rating, k."sort 1" AS "sort 1", k."sort 2" AS "sort 2"
FROM (SELECT t.tenant_id AS tenant_id, t.id AS id, t.created_at AS "sort 1", t.id AS "sort 2"
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $3::BIGINT) AS k
JOIN reviews AS t ON t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND t.tenant_id = k.tenant_id
AND t.id = k.id
ORDER BY k."sort 1" DESC, k."sort 2" DESC) AS r) AS r
WHERE $4::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?minPrice=1&createdBefore=2026-01-01&status=draft,live&name.contains=a&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND t.created_at < $3::TIMESTAMP WITH TIME ZONE
AND lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default")
AND t.price$e2 >= CAST(ceil(least(greatest($5::NUMERIC * 100, -1000000000000000000), 1000000000000000000)) AS BIGINT)
AND t.status = ANY ($6::TEXT[])) END AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND t.created_at < $3::TIMESTAMP WITH TIME ZONE
AND nullif(lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default")
AND t.price$e2 >= CAST(ceil(least(greatest($5::NUMERIC * 100, -1000000000000000000), 1000000000000000000)) AS BIGINT)
AND t.status = ANY ($6::TEXT[]), false) IS NOT NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $7::BIGINT) AS r) AS r
WHERE $8::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- categories?name=books&name.in=a,b&description.isNull=true&includeDeleted=true of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.name AS name, r.description AS description, CASE WHEN (CAST(r.created_at AS TIMESTAMP(5) WITH TIME ZONE) != r.created_at) THEN replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.created_at AS TIMESTAMP(0) WITH TIME ZONE) != r.created_at) THEN to_char(r.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN (CAST(r.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != r.updated_at) THEN replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != r.updated_at) THEN to_char(r.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "updatedAt", r.created_by AS "createdBy", r.updated_by AS "updatedBy", r.is_deleted AS "isDeleted", CASE WHEN (CAST(r.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != r.deleted_at) THEN replace(CAST(r.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(r.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != r.deleted_at) THEN to_char(r.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(r.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "deletedAt", r.deleted_by AS "deletedBy", r.version AS version, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM categories AS t
WHERE t.tenant_id = $2::UUID
AND (t.description IS NULL) = $3::BOOLEAN
AND t.name$lower = (SELECT lower($4::VARCHAR COLLATE "default") AS lower_1)
AND t.name$lower = ANY (array((SELECT lower(text COLLATE "default") AS lower_2
FROM unnest($5::TEXT[]) AS text)))) END AS total
FROM (SELECT r.id AS id, r.name AS name, r.description AS description, r.created_at AS created_at, r.updated_at AS updated_at, r.created_by AS created_by, r.updated_by AS updated_by, r.is_deleted AS is_deleted, r.deleted_at AS deleted_at, r.deleted_by AS deleted_by, r.version AS version, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t.description AS description, t.created_at AS created_at, t.updated_at AS updated_at, t.created_by AS created_by, t.updated_by AS updated_by, t.is_deleted AS is_deleted, t.deleted_at AS deleted_at, t.deleted_by AS deleted_by, t.version AS version, t.created_at AS "sort 1", t.id AS "sort 2"
FROM categories AS t
WHERE t.tenant_id = $2::UUID
AND (t.description IS NULL) = $3::BOOLEAN
AND t.name$lower = (SELECT lower($4::VARCHAR COLLATE "default") AS lower_1)
AND t.name$lower = ANY (array((SELECT lower(text COLLATE "default") AS lower_2
FROM unnest($5::TEXT[]) AS text)))
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $6::BIGINT) AS r) AS r
WHERE $7::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?search=red lamp&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default"))) END AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND nullif((lower(t.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default")), false) IS NOT NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $5::BIGINT) AS r) AS r
WHERE $6::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?category.name=a&reviews.rating.gte=4&reviews.author.ne=Bob&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND (EXISTS (SELECT
FROM categories AS t1
WHERE t1.tenant_id = $2::UUID
AND NOT t1.is_deleted
AND t1.id = t.category_id
AND t1.name$lower = (SELECT lower($3::VARCHAR COLLATE "default") AS lower_1)))
AND (EXISTS (SELECT
FROM reviews AS t2
WHERE t2.tenant_id = $2::UUID
AND NOT t2.is_deleted
AND t2.product_id = t.id
AND t2.author != $4::VARCHAR
AND t2.rating >= $5::INTEGER))) END AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND (EXISTS (SELECT
FROM categories AS t1
WHERE t1.tenant_id = $2::UUID
AND NOT t1.is_deleted
AND t1.id = t.category_id
AND t1.name$lower = (SELECT lower($3::VARCHAR COLLATE "default") AS lower_1)))
AND (EXISTS (SELECT
FROM reviews AS t2
WHERE t2.tenant_id = $2::UUID
AND NOT t2.is_deleted
AND t2.product_id = t.id
AND t2.author != $4::VARCHAR
AND t2.rating >= $5::INTEGER))
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $6::BIGINT) AS r) AS r
WHERE $7::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?sort=category.name:desc,price&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 3" END AS "sort 3", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted) END AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", r."sort 3" AS "sort 3", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t1.name AS "sort 1", t.price AS "sort 2", t.id AS "sort 3"
FROM products AS t
LEFT OUTER JOIN categories AS t1 ON t1.tenant_id = $2::UUID
AND NOT t1.is_deleted
AND t1.id = t.category_id
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
ORDER BY t1.name DESC, t.price$e2, t.id
LIMIT $1::INTEGER + 1 OFFSET $3::BIGINT) AS r) AS r
WHERE $4::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?sort=category.name:desc,price&fields=name of EveryTenant()
SELECT r.id AS id, r.tenant_id AS "tenantId", r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 3" END AS "sort 3", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM products AS t
WHERE NOT t.is_deleted) END AS total
FROM (SELECT r.tenant_id AS tenant_id, r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", r."sort 3" AS "sort 3", row_number() OVER () AS "the place"
FROM (SELECT t.tenant_id AS tenant_id, t.id AS id, t.name AS name, t1.name AS "sort 1", t.price AS "sort 2", t.id AS "sort 3"
FROM products AS t
LEFT OUTER JOIN categories AS t1 ON NOT t1.is_deleted
AND t1.tenant_id = t.tenant_id
AND t1.id = t.category_id
WHERE NOT t.is_deleted
ORDER BY t1.name DESC, t.price$e2, t.id
LIMIT $1::INTEGER + 1 OFFSET $2::BIGINT) AS r) AS r
WHERE $3::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- reviews?include=product.category&fields=rating of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.rating AS rating, t1.id AS "product.id", t1.name AS "product.name", t1.sku AS "product.sku", t1.description AS "product.description", t1.price AS "product.price", t1.stock AS "product.stock", t1.status AS "product.status", t1.category_id AS "product.categoryId", CASE WHEN (CAST(t1.released_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.released_at) THEN replace(CAST(t1.released_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.released_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.released_at) THEN to_char(t1.released_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.released_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "product.releasedAt", t1.photo_id AS "product.photoId", CASE WHEN (CAST(t1.created_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.created_at) THEN replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.created_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.created_at) THEN to_char(t1.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "product.createdAt", CASE WHEN (CAST(t1.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.updated_at) THEN replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.updated_at) THEN to_char(t1.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "product.updatedAt", t1.created_by AS "product.createdBy", t1.updated_by AS "product.updatedBy", t1.is_deleted AS "product.isDeleted", CASE WHEN (CAST(t1.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.deleted_at) THEN replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.deleted_at) THEN to_char(t1.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "product.deletedAt", t1.deleted_by AS "product.deletedBy", t1.version AS "product.version", t2.id AS "product.category.id", t2.name AS "product.category.name", t2.description AS "product.category.description", CASE WHEN (CAST(t2.created_at AS TIMESTAMP(5) WITH TIME ZONE) != t2.created_at) THEN replace(CAST(t2.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t2.created_at AS TIMESTAMP(0) WITH TIME ZONE) != t2.created_at) THEN to_char(t2.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t2.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "product.category.createdAt", CASE WHEN (CAST(t2.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != t2.updated_at) THEN replace(CAST(t2.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t2.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != t2.updated_at) THEN to_char(t2.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t2.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "product.category.updatedAt", t2.created_by AS "product.category.createdBy", t2.updated_by AS "product.category.updatedBy", t2.is_deleted AS "product.category.isDeleted", CASE WHEN (CAST(t2.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != t2.deleted_at) THEN replace(CAST(t2.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t2.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != t2.deleted_at) THEN to_char(t2.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t2.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "product.category.deletedAt", t2.deleted_by AS "product.category.deletedBy", t2.version AS "product.category.version", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted) END AS total
FROM (SELECT r.id AS id, r.product_id AS product_id, r.rating AS rating, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.product_id AS product_id, t.rating AS rating, t.created_at AS "sort 1", t.id AS "sort 2"
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $3::BIGINT) AS r) AS r
LEFT OUTER JOIN products AS t1 ON t1.tenant_id = $2::UUID
AND NOT t1.is_deleted
AND t1.id = r.product_id
LEFT OUTER JOIN categories AS t2 ON t2.tenant_id = $2::UUID
AND NOT t2.is_deleted
AND t2.id = t1.category_id
WHERE $4::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0
ORDER BY r."the place"

-- categories?include=products.reviews&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
WITH "rows to answer" AS MATERIALIZED (SELECT "rows made"."column 0" AS "column 0", "rows made"."column 1" AS "column 1", CASE WHEN (octet_length(CAST("rows made"."column 2" AS TEXT)) > 33554432) THEN CAST(repeat(CAST("rows made"."column 2" AS TEXT), 2147483647) AS JSON) ELSE "rows made"."column 2" END AS "column 2", "rows made"."column 3" AS "column 3", "rows made"."column 4" AS "column 4", "rows made"."column 5" AS "column 5", "rows made"."column 6" AS "column 6", "rows made".place AS place
FROM (SELECT r.id AS "column 0", r.name AS "column 1", CASE WHEN (r."the place" <= $1::INTEGER) THEN (SELECT coalesce(CASE WHEN (octet_length(CAST("t1 rows".list AS TEXT)) > 33554432) THEN CAST(repeat(CAST("t1 rows".list AS TEXT), 2147483647) AS JSON) ELSE "t1 rows".list END, CAST('[]' AS JSON)) AS coalesce_1
FROM (SELECT array_to_json(array_agg("t1 rows items".item)) AS list
FROM (SELECT CASE WHEN (sum(octet_length(CAST("t1 rows made".item AS TEXT))) OVER (ROWS BETWEEN UNBOUNDED PRECEDING
AND CURRENT ROW) > 33554432) THEN CAST(repeat(CAST("t1 rows made".item AS TEXT), 2147483647) AS JSON) ELSE "t1 rows made".item END AS item
FROM (SELECT (SELECT row_to_json(o) AS row_to_json_1
FROM (SELECT t1.id AS id, t1.name AS name, t1.sku AS sku, t1.description AS description, t1.price AS price, t1.stock AS stock, t1.status AS status, t1.category_id AS "categoryId", CASE WHEN (CAST(t1.released_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.released_at) THEN replace(CAST(t1.released_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.released_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.released_at) THEN to_char(t1.released_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.released_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "releasedAt", t1.photo_id AS "photoId", CASE WHEN (CAST(t1.created_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.created_at) THEN replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.created_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.created_at) THEN to_char(t1.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN (CAST(t1.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.updated_at) THEN replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.updated_at) THEN to_char(t1.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "updatedAt", t1.created_by AS "createdBy", t1.updated_by AS "updatedBy", t1.is_deleted AS "isDeleted", CASE WHEN (CAST(t1.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.deleted_at) THEN replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.deleted_at) THEN to_char(t1.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "deletedAt", t1.deleted_by AS "deletedBy", t1.version AS version, (SELECT coalesce(CASE WHEN (octet_length(CAST("t2 rows".list AS TEXT)) > 33554432) THEN CAST(repeat(CAST("t2 rows".list AS TEXT), 2147483647) AS JSON) ELSE "t2 rows".list END, CAST('[]' AS JSON)) AS coalesce_2
FROM (SELECT array_to_json(array_agg("t2 rows items".item)) AS list
FROM (SELECT (SELECT row_to_json(o) AS row_to_json_2
FROM (SELECT t2.id AS id, t2.product_id AS "productId", t2.rating AS rating, t2.author AS author, t2.text AS text, CASE WHEN (CAST(t2.created_at AS TIMESTAMP(5) WITH TIME ZONE) != t2.created_at) THEN replace(CAST(t2.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t2.created_at AS TIMESTAMP(0) WITH TIME ZONE) != t2.created_at) THEN to_char(t2.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t2.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN (CAST(t2.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != t2.updated_at) THEN replace(CAST(t2.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t2.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != t2.updated_at) THEN to_char(t2.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t2.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "updatedAt", t2.created_by AS "createdBy", t2.updated_by AS "updatedBy", t2.is_deleted AS "isDeleted", CASE WHEN (CAST(t2.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != t2.deleted_at) THEN replace(CAST(t2.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t2.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != t2.deleted_at) THEN to_char(t2.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t2.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "deletedAt", t2.deleted_by AS "deletedBy", t2.version AS version) AS o) AS item
FROM (SELECT t2.id AS id, t2.product_id AS product_id, t2.rating AS rating, t2.author AS author, t2.text AS text, t2.created_at AS created_at, t2.updated_at AS updated_at, t2.created_by AS created_by, t2.updated_by AS updated_by, t2.is_deleted AS is_deleted, t2.deleted_at AS deleted_at, t2.deleted_by AS deleted_by, t2.version AS version
FROM reviews AS t2
WHERE t2.tenant_id = $2::UUID
AND NOT t2.is_deleted
AND t2.product_id BETWEEN t1.id
AND t1.id
ORDER BY t2.product_id DESC, t2.created_at DESC, t2.id DESC
LIMIT 100) AS t2) AS "t2 rows items") AS "t2 rows") AS reviews, EXISTS (SELECT
FROM reviews AS t2
WHERE t2.tenant_id = $2::UUID
AND NOT t2.is_deleted
AND t2.product_id = t1.id
LIMIT ALL OFFSET 100) AS "reviewsHasMore") AS o) AS item
FROM (SELECT t1.id AS id, t1.name AS name, t1.sku AS sku, t1.description AS description, t1.price AS price, t1.stock AS stock, t1.status AS status, t1.category_id AS category_id, t1.released_at AS released_at, t1.photo_id AS photo_id, t1.created_at AS created_at, t1.updated_at AS updated_at, t1.created_by AS created_by, t1.updated_by AS updated_by, t1.is_deleted AS is_deleted, t1.deleted_at AS deleted_at, t1.deleted_by AS deleted_by, t1.version AS version
FROM products AS t1
WHERE t1.tenant_id = $2::UUID
AND NOT t1.is_deleted
AND t1.category_id BETWEEN r.id
AND r.id
ORDER BY t1.category_id DESC, t1.created_at DESC, t1.id DESC
LIMIT 100) AS t1
LIMIT ALL OFFSET 0) AS "t1 rows made") AS "t1 rows items") AS "t1 rows") END AS "column 2", EXISTS (SELECT
FROM products AS t1
WHERE t1.tenant_id = $2::UUID
AND NOT t1.is_deleted
AND t1.category_id = r.id
LIMIT ALL OFFSET 100) AS "column 3", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "column 4", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "column 5", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM categories AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted) END AS "column 6", r."the place" AS place
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM categories AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $3::BIGINT) AS r) AS r
WHERE $4::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0
LIMIT ALL OFFSET 0) AS "rows made") SELECT "rows to answer"."column 0" AS id, "rows to answer"."column 1" AS name, CASE WHEN (SELECT sum(octet_length(CAST("rows to answer"."column 2" AS TEXT))) > 33554432 AS anon_1
FROM "rows to answer") THEN CAST(repeat(CAST("rows to answer"."column 2" AS TEXT), 2147483647) AS JSON) ELSE "rows to answer"."column 2" END AS products, "rows to answer"."column 3" AS "productsHasMore", "rows to answer"."column 4" AS "sort 1", "rows to answer"."column 5" AS "sort 2", "rows to answer"."column 6" AS total
FROM "rows to answer"
ORDER BY "rows to answer".place

-- categories?include=products&fields=name of EveryTenant()
WITH "rows to answer" AS MATERIALIZED (SELECT "rows made"."column 0" AS "column 0", "rows made"."column 1" AS "column 1", "rows made"."column 2" AS "column 2", CASE WHEN (octet_length(CAST("rows made"."column 3" AS TEXT)) > 33554432) THEN CAST(repeat(CAST("rows made"."column 3" AS TEXT), 2147483647) AS JSON) ELSE "rows made"."column 3" END AS "column 3", "rows made"."column 4" AS "column 4", "rows made"."column 5" AS "column 5", "rows made"."column 6" AS "column 6", "rows made"."column 7" AS "column 7", "rows made".place AS place
FROM (SELECT r.id AS "column 0", r.tenant_id AS "column 1", r.name AS "column 2", CASE WHEN (r."the place" <= $1::INTEGER) THEN (SELECT coalesce(CASE WHEN (octet_length(CAST("t1 rows".list AS TEXT)) > 33554432) THEN CAST(repeat(CAST("t1 rows".list AS TEXT), 2147483647) AS JSON) ELSE "t1 rows".list END, CAST('[]' AS JSON)) AS coalesce_1
FROM (SELECT array_to_json(array_agg("t1 rows items".item)) AS list
FROM (SELECT (SELECT row_to_json(o) AS row_to_json_1
FROM (SELECT t1.id AS id, t1.tenant_id AS "tenantId", t1.name AS name, t1.sku AS sku, t1.description AS description, t1.price AS price, t1.stock AS stock, t1.status AS status, t1.category_id AS "categoryId", CASE WHEN (CAST(t1.released_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.released_at) THEN replace(CAST(t1.released_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.released_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.released_at) THEN to_char(t1.released_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.released_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "releasedAt", t1.photo_id AS "photoId", CASE WHEN (CAST(t1.created_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.created_at) THEN replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.created_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.created_at) THEN to_char(t1.created_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.created_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "createdAt", CASE WHEN (CAST(t1.updated_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.updated_at) THEN replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.updated_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.updated_at) THEN to_char(t1.updated_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.updated_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "updatedAt", t1.created_by AS "createdBy", t1.updated_by AS "updatedBy", t1.is_deleted AS "isDeleted", CASE WHEN (CAST(t1.deleted_at AS TIMESTAMP(5) WITH TIME ZONE) != t1.deleted_at) THEN replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || 'Z' WHEN (CAST(t1.deleted_at AS TIMESTAMP(0) WITH TIME ZONE) != t1.deleted_at) THEN to_char(t1.deleted_at AT TIME ZONE interval '0', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE replace(CAST(t1.deleted_at AT TIME ZONE interval '0' AS TEXT), ' ', 'T') || '.000000Z' END AS "deletedAt", t1.deleted_by AS "deletedBy", t1.version AS version) AS o) AS item
FROM (SELECT t1.tenant_id AS tenant_id, t1.id AS id, t1.name AS name, t1.sku AS sku, t1.description AS description, t1.price AS price, t1.stock AS stock, t1.status AS status, t1.category_id AS category_id, t1.released_at AS released_at, t1.photo_id AS photo_id, t1.created_at AS created_at, t1.updated_at AS updated_at, t1.created_by AS created_by, t1.updated_by AS updated_by, t1.is_deleted AS is_deleted, t1.deleted_at AS deleted_at, t1.deleted_by AS deleted_by, t1.version AS version
FROM products AS t1
WHERE NOT t1.is_deleted
AND t1.tenant_id = r.tenant_id
AND t1.category_id BETWEEN r.id
AND r.id
ORDER BY t1.category_id DESC, t1.created_at DESC, t1.id DESC
LIMIT 100) AS t1) AS "t1 rows items") AS "t1 rows") END AS "column 3", EXISTS (SELECT
FROM products AS t1
WHERE NOT t1.is_deleted
AND t1.tenant_id = r.tenant_id
AND t1.category_id = r.id
LIMIT ALL OFFSET 100) AS "column 4", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "column 5", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "column 6", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM categories AS t
WHERE NOT t.is_deleted) END AS "column 7", r."the place" AS place
FROM (SELECT r.tenant_id AS tenant_id, r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.tenant_id AS tenant_id, t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM categories AS t
WHERE NOT t.is_deleted
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $2::BIGINT) AS r) AS r
WHERE $3::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0
LIMIT ALL OFFSET 0) AS "rows made") SELECT "rows to answer"."column 0" AS id, "rows to answer"."column 1" AS "tenantId", "rows to answer"."column 2" AS name, CASE WHEN (SELECT sum(octet_length(CAST("rows to answer"."column 3" AS TEXT))) > 33554432 AS anon_1
FROM "rows to answer") THEN CAST(repeat(CAST("rows to answer"."column 3" AS TEXT), 2147483647) AS JSON) ELSE "rows to answer"."column 3" END AS products, "rows to answer"."column 4" AS "productsHasMore", "rows to answer"."column 5" AS "sort 1", "rows to answer"."column 6" AS "sort 2", "rows to answer"."column 7" AS total
FROM "rows to answer"
ORDER BY "rows to answer".place

-- applications?sort=name&fields=name of OneTenant(id=UUID('00000000-0000-0000-0000-000000000001'), sees_all=False)
SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN (SELECT count(*) AS count_1
FROM applications AS t
WHERE ($2::BOOLEAN OR t.allowed_tenant_ids IS NULL OR $3::UUID = ANY (t.allowed_tenant_ids))
AND NOT t.is_deleted) END AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t.name AS "sort 1", t.id AS "sort 2"
FROM applications AS t
WHERE ($2::BOOLEAN OR t.allowed_tenant_ids IS NULL OR $3::UUID = ANY (t.allowed_tenant_ids))
AND NOT t.is_deleted
ORDER BY t.name, t.id
LIMIT $1::INTEGER + 1 OFFSET $4::BIGINT) AS r) AS r
WHERE $5::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- reviews?sort=createdAt:desc&fields=rating&cursor=…
SELECT r.id AS id, r.rating AS rating, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", (SELECT count(*) AS count_1
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted) AS total
FROM (SELECT r.id AS id, r.rating AS rating, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.rating AS rating, t.created_at AS "sort 1", t.id AS "sort 2"
FROM reviews AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND (t.created_at, t.id) < ($3::TIMESTAMP WITH TIME ZONE, $4::UUID)
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1) AS r) AS r
WHERE $5::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?sort=category.name,price:desc&fields=name&cursor=…
SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 3" END AS "sort 3", (SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted) AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", r."sort 3" AS "sort 3", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.name AS name, t1.name AS "sort 1", t.price AS "sort 2", t.id AS "sort 3"
FROM products AS t
LEFT OUTER JOIN categories AS t1 ON t1.tenant_id = $2::UUID
AND NOT t1.is_deleted
AND t1.id = t.category_id
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND (false OR t1.name IS NULL
AND t.price$e2 < CAST(least(greatest($3::NUMERIC * 100, -1000000000000000000), 1000000000000000000) AS BIGINT) OR t1.name IS NULL
AND t.price$e2 = CAST(least(greatest($3::NUMERIC * 100, -1000000000000000000), 1000000000000000000) AS BIGINT)
AND t.id < $4::UUID)
ORDER BY t1.name, t.price$e2 DESC, t.id DESC
LIMIT $1::INTEGER + 1) AS r) AS r
WHERE $5::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- the total of products?category.name=a&search=lamp
SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $1::UUID
AND NOT t.is_deleted
AND (EXISTS (SELECT
FROM categories AS t1
WHERE t1.tenant_id = $1::UUID
AND NOT t1.is_deleted
AND t1.id = t.category_id
AND t1.name$lower = (SELECT lower($2::VARCHAR COLLATE "default") AS lower_1)))
AND (lower(t.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default"))
AND ($4::BOOLEAN OR (SELECT count(*) AS count_2
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0)

-- products?search=lamp&fields=name with an index
WITH head AS MATERIALIZED (SELECT count(*) AS seen
FROM (SELECT s.name AS name, s.sku AS sku, s.description AS description
FROM products AS s
WHERE s.tenant_id = $4::UUID
AND NOT s.is_deleted
ORDER BY s.created_at DESC, s.id DESC
LIMIT $5::INTEGER) AS sampled), "found by index" AS MATERIALIZED (SELECT CASE WHEN (chosen.n = 1) THEN (SELECT CASE WHEN (num_nulls("looked up"."ids 0", "looked up"."ids 1", "looked up"."ids 2") = 0) THEN array_cat(array_cat("looked up"."ids 0", "looked up"."ids 1"), "looked up"."ids 2") END AS anon_1
FROM (SELECT tenantry_search."products.name"(lower($2::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 0", tenantry_search."products.sku"(lower($2::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 1", tenantry_search."products.description"(lower($2::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 2"
LIMIT ALL OFFSET 0) AS "looked up") END AS ids
FROM (SELECT 1 AS n
FROM head
WHERE head.seen >= $5::INTEGER) AS chosen) SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN CASE WHEN (CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[]) IS NULL) THEN (SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $4::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default"))) ELSE (SELECT count(*) AS count_2
FROM products AS t
WHERE (t.tenant_id, t.id) IN (SELECT $4::UUID AS anon_2, unnest(CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[])) AS unnest_1)
AND nullif(t.tenant_id = $4::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default")), false) IS NOT NULL) END END AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM ((SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE (t.tenant_id, t.id) IN (SELECT $4::UUID AS anon_2, unnest(CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[])) AS unnest_2)
AND nullif(t.tenant_id = $4::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default")), false) IS NOT NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $6::BIGINT) UNION ALL (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE t.tenant_id = $4::UUID
AND NOT t.is_deleted
AND nullif(lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default"), false) IS NOT NULL
AND CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[]) IS NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $6::BIGINT)) AS r) AS r
WHERE $7::BOOLEAN OR (SELECT count(*) AS count_3
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?search=red lamp&fields=name with an index
WITH head AS MATERIALIZED (SELECT count(*) AS seen, count(*) FILTER (WHERE lower(sampled.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(sampled.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(sampled.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default")) AS hits_0, count(*) FILTER (WHERE lower(sampled.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(sampled.sku COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(sampled.description COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default")) AS hits_1
FROM (SELECT s.name AS name, s.sku AS sku, s.description AS description
FROM products AS s
WHERE s.tenant_id = $5::UUID
AND NOT s.is_deleted
ORDER BY s.created_at DESC, s.id DESC
LIMIT $6::INTEGER) AS sampled), "found by index" AS MATERIALIZED (SELECT CASE WHEN (chosen.n = 1) THEN (SELECT CASE WHEN (num_nulls("looked up"."ids 0", "looked up"."ids 1", "looked up"."ids 2") = 0) THEN array_cat(array_cat("looked up"."ids 0", "looked up"."ids 1"), "looked up"."ids 2") END AS anon_1
FROM (SELECT tenantry_search."products.name"(lower($2::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 0", tenantry_search."products.sku"(lower($2::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 1", tenantry_search."products.description"(lower($2::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 2"
LIMIT ALL OFFSET 0) AS "looked up") WHEN (chosen.n = 2) THEN (SELECT CASE WHEN (num_nulls("looked up"."ids 0", "looked up"."ids 1", "looked up"."ids 2") = 0) THEN array_cat(array_cat("looked up"."ids 0", "looked up"."ids 1"), "looked up"."ids 2") END AS anon_2
FROM (SELECT tenantry_search."products.name"(lower($4::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 0", tenantry_search."products.sku"(lower($4::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 1", tenantry_search."products.description"(lower($4::VARCHAR COLLATE "default"), $3::INTEGER) AS "ids 2"
LIMIT ALL OFFSET 0) AS "looked up") END AS ids
FROM (SELECT anon_3.n AS n
FROM head
JOIN unnest(ARRAY[head.hits_0, head.hits_1]) WITH ORDINALITY AS anon_3(hits, n) ON true
WHERE head.seen >= $6::INTEGER
AND anon_3.hits <= greatest($7::INTEGER - 1, least(head.hits_0, head.hits_1))
ORDER BY anon_3.hits, anon_3.n
LIMIT 3) AS chosen) SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CASE WHEN (r."the place" > $1::INTEGER) THEN CASE WHEN (CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[]) IS NULL) THEN (SELECT count(*) AS count_1
FROM products AS t
WHERE t.tenant_id = $5::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default"))) ELSE (SELECT count(*) AS count_2
FROM products AS t
WHERE (t.tenant_id, t.id) IN (SELECT $5::UUID AS anon_4, unnest(CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[])) AS unnest_1)
AND nullif(t.tenant_id = $5::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default")), false) IS NOT NULL) END END AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM ((SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE (t.tenant_id, t.id) IN (SELECT $5::UUID AS anon_4, unnest(CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[])) AS unnest_2)
AND nullif(t.tenant_id = $5::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default")), false) IS NOT NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $8::BIGINT) UNION ALL (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE t.tenant_id = $5::UUID
AND NOT t.is_deleted
AND nullif((lower(t.name COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($4::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($2::VARCHAR COLLATE "default")), false) IS NOT NULL
AND CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[]) IS NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $8::BIGINT)) AS r) AS r
WHERE $9::BOOLEAN OR (SELECT count(*) AS count_3
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?search=red lamp&fields=name&count=none with an index
WITH head AS MATERIALIZED (SELECT count(*) AS seen, count(*) FILTER (WHERE lower(sampled.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(sampled.sku COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(sampled.description COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default")) AS hits_0, count(*) FILTER (WHERE lower(sampled.name COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default") OR lower(sampled.sku COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default") OR lower(sampled.description COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default")) AS hits_1
FROM (SELECT s.name AS name, s.sku AS sku, s.description AS description
FROM products AS s
WHERE s.tenant_id = $2::UUID
AND NOT s.is_deleted
ORDER BY s.created_at DESC, s.id DESC
LIMIT $6::INTEGER) AS sampled), "found by index" AS MATERIALIZED (SELECT CASE WHEN (chosen.n = 1) THEN (SELECT CASE WHEN (num_nulls("looked up"."ids 0", "looked up"."ids 1", "looked up"."ids 2") = 0) THEN array_cat(array_cat("looked up"."ids 0", "looked up"."ids 1"), "looked up"."ids 2") END AS anon_2
FROM (SELECT tenantry_search."products.name"(lower($3::VARCHAR COLLATE "default"), $4::INTEGER) AS "ids 0", tenantry_search."products.sku"(lower($3::VARCHAR COLLATE "default"), $4::INTEGER) AS "ids 1", tenantry_search."products.description"(lower($3::VARCHAR COLLATE "default"), $4::INTEGER) AS "ids 2"
LIMIT ALL OFFSET 0) AS "looked up") WHEN (chosen.n = 2) THEN (SELECT CASE WHEN (num_nulls("looked up"."ids 0", "looked up"."ids 1", "looked up"."ids 2") = 0) THEN array_cat(array_cat("looked up"."ids 0", "looked up"."ids 1"), "looked up"."ids 2") END AS anon_3
FROM (SELECT tenantry_search."products.name"(lower($5::VARCHAR COLLATE "default"), $4::INTEGER) AS "ids 0", tenantry_search."products.sku"(lower($5::VARCHAR COLLATE "default"), $4::INTEGER) AS "ids 1", tenantry_search."products.description"(lower($5::VARCHAR COLLATE "default"), $4::INTEGER) AS "ids 2"
LIMIT ALL OFFSET 0) AS "looked up") END AS ids
FROM (SELECT anon_4.n AS n
FROM head
JOIN unnest(ARRAY[head.hits_0, head.hits_1]) WITH ORDINALITY AS anon_4(hits, n) ON true
WHERE head.seen >= $6::INTEGER
AND anon_4.hits <= $7::INTEGER - 1
ORDER BY anon_4.hits, anon_4.n
LIMIT 3) AS chosen) SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CAST(NULL AS BIGINT) AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM ((SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE (t.tenant_id, t.id) IN (SELECT $2::UUID AS anon_1, unnest(CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[])) AS unnest_1)
AND nullif(t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND (lower(t.name COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default")), false) IS NOT NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $8::BIGINT) UNION ALL (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND nullif((lower(t.name COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($5::VARCHAR COLLATE "default"))
AND (lower(t.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.sku COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default") OR lower(t.description COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default")), false) IS NOT NULL
AND CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[]) IS NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $8::BIGINT)) AS r) AS r
WHERE $9::BOOLEAN OR (SELECT count(*) AS count_1
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- products?name.contains=lamp&fields=name&count=none with an index
WITH head AS MATERIALIZED (SELECT count(*) AS seen, count(*) FILTER (WHERE lower(sampled.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default")) AS hits_0
FROM (SELECT s.name AS name
FROM products AS s
WHERE s.tenant_id = $2::UUID
AND NOT s.is_deleted
ORDER BY s.created_at DESC, s.id DESC
LIMIT $5::INTEGER) AS sampled), "found by index" AS MATERIALIZED (SELECT CASE WHEN (chosen.n = 1) THEN (SELECT CASE WHEN (num_nulls("looked up"."ids 0") = 0) THEN "looked up"."ids 0" END AS anon_2
FROM (SELECT tenantry_search."products.name"(lower($3::VARCHAR COLLATE "default"), $4::INTEGER) AS "ids 0"
LIMIT ALL OFFSET 0) AS "looked up") END AS ids
FROM (SELECT anon_3.n AS n
FROM head
JOIN unnest(ARRAY[head.hits_0]) WITH ORDINALITY AS anon_3(hits, n) ON true
WHERE head.seen >= $5::INTEGER
AND anon_3.hits <= $6::INTEGER - 1
ORDER BY anon_3.hits, anon_3.n
LIMIT 3) AS chosen) SELECT r.id AS id, r.name AS name, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CAST(NULL AS BIGINT) AS total
FROM (SELECT r.id AS id, r.name AS name, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM ((SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE (t.tenant_id, t.id) IN (SELECT $2::UUID AS anon_1, unnest(CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[])) AS unnest_1)
AND nullif(t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND lower(t.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default"), false) IS NOT NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $7::BIGINT) UNION ALL (SELECT t.id AS id, t.name AS name, t.created_at AS "sort 1", t.id AS "sort 2"
FROM products AS t
WHERE t.tenant_id = $2::UUID
AND NOT t.is_deleted
AND nullif(lower(t.name COLLATE "default") LIKE lower($3::VARCHAR COLLATE "default"), false) IS NOT NULL
AND CAST((SELECT "found by index".ids
FROM "found by index"
WHERE "found by index".ids IS NOT NULL
LIMIT 1) AS UUID[]) IS NULL
ORDER BY t.created_at DESC, t.id DESC
LIMIT $1::INTEGER + 1 OFFSET $7::BIGINT)) AS r) AS r
WHERE $8::BOOLEAN OR (SELECT count(*) AS count_1
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- own tasks?fields=title&count=none&includeDeleted=true
SELECT r.id AS id, r.title AS title, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CAST(NULL AS BIGINT) AS total
FROM (SELECT r.id AS id, r.title AS title, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.title AS title, t.title AS "sort 1", t.id AS "sort 2"
FROM tasks AS t
WHERE t.tenant_id = $2::UUID
AND (t.created_by = $3::UUID OR t.assignee_id = $3::UUID OR t.team_id = ANY ($4::UUID[]) OR $4::UUID[] IS NULL
AND (EXISTS (SELECT "own far".team_id
FROM team_members AS "own far"
WHERE "own far".tenant_id = $2::UUID
AND NOT "own far".is_deleted
AND "own far".user_id = $3::UUID
AND (EXISTS (SELECT
FROM teams AS "own near"
WHERE "own near".tenant_id = $2::UUID
AND NOT "own near".is_deleted
AND "own near".id = "own far".team_id
LIMIT ALL OFFSET 0))
AND "own far".team_id = t.team_id)) OR t.id = ANY ($5::UUID[]) OR $5::UUID[] IS NULL
AND (EXISTS (SELECT "own share".row_id
FROM row_shares AS "own share"
WHERE "own share".tenant_id = $2::UUID
AND "own share".user_id = $3::UUID
AND "own share".entity = 'tasks'
AND "own share".level IN ('read', 'update')
AND "own share".row_id = t.id)))
AND (NOT t.is_deleted OR t.created_by = $3::UUID OR t.assignee_id = $3::UUID OR t.team_id = ANY ($4::UUID[]) OR $4::UUID[] IS NULL
AND (EXISTS (SELECT "own far".team_id
FROM team_members AS "own far"
WHERE "own far".tenant_id = $2::UUID
AND NOT "own far".is_deleted
AND "own far".user_id = $3::UUID
AND (EXISTS (SELECT
FROM teams AS "own near"
WHERE "own near".tenant_id = $2::UUID
AND NOT "own near".is_deleted
AND "own near".id = "own far".team_id
LIMIT ALL OFFSET 0))
AND "own far".team_id = t.team_id)))
ORDER BY t.title, t.id
LIMIT $1::INTEGER + 1 OFFSET $6::BIGINT) AS r) AS r
WHERE $7::BOOLEAN OR (SELECT count(*) AS count_1
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- own tasks?subtasks.title=a&fields=title&count=none
SELECT r.id AS id, r.title AS title, CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $1::INTEGER) THEN r."sort 2" END AS "sort 2", CAST(NULL AS BIGINT) AS total
FROM (SELECT r.id AS id, r.title AS title, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.title AS title, t.title AS "sort 1", t.id AS "sort 2"
FROM tasks AS t
WHERE t.tenant_id = $2::UUID
AND (t.created_by = $3::UUID OR t.assignee_id = $3::UUID OR t.team_id = ANY ($4::UUID[]) OR $4::UUID[] IS NULL
AND (EXISTS (SELECT "own far".team_id
FROM team_members AS "own far"
WHERE "own far".tenant_id = $2::UUID
AND NOT "own far".is_deleted
AND "own far".user_id = $3::UUID
AND (EXISTS (SELECT
FROM teams AS "own near"
WHERE "own near".tenant_id = $2::UUID
AND NOT "own near".is_deleted
AND "own near".id = "own far".team_id
LIMIT ALL OFFSET 0))
AND "own far".team_id = t.team_id)) OR t.id = ANY ($5::UUID[]) OR $5::UUID[] IS NULL
AND (EXISTS (SELECT "own share".row_id
FROM row_shares AS "own share"
WHERE "own share".tenant_id = $2::UUID
AND "own share".user_id = $3::UUID
AND "own share".entity = 'tasks'
AND "own share".level IN ('read', 'update')
AND "own share".row_id = t.id)))
AND NOT t.is_deleted
AND (EXISTS (SELECT
FROM tasks AS t1
WHERE t1.tenant_id = $2::UUID
AND (t1.created_by = $3::UUID OR t1.assignee_id = $3::UUID OR t1.team_id = ANY ($4::UUID[]) OR $4::UUID[] IS NULL
AND (EXISTS (SELECT "own far".team_id
FROM team_members AS "own far"
WHERE "own far".tenant_id = $2::UUID
AND NOT "own far".is_deleted
AND "own far".user_id = $3::UUID
AND (EXISTS (SELECT
FROM teams AS "own near"
WHERE "own near".tenant_id = $2::UUID
AND NOT "own near".is_deleted
AND "own near".id = "own far".team_id
LIMIT ALL OFFSET 0))
AND "own far".team_id = t1.team_id)) OR t1.id = ANY ($5::UUID[]) OR $5::UUID[] IS NULL
AND (EXISTS (SELECT "own share".row_id
FROM row_shares AS "own share"
WHERE "own share".tenant_id = $2::UUID
AND "own share".user_id = $3::UUID
AND "own share".entity = 'tasks'
AND "own share".level IN ('read', 'update')
AND "own share".row_id = t1.id)))
AND NOT t1.is_deleted
AND t1.parent_id = t.id
AND t1.title = $6::VARCHAR))
ORDER BY t.title, t.id
LIMIT $1::INTEGER + 1 OFFSET $7::BIGINT) AS r) AS r
WHERE $8::BOOLEAN OR (SELECT count(*) AS count_1
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- own tasks/{id}?fields=title
SELECT t.id AS id, t.title AS title, t.version AS seen
FROM tasks AS t
WHERE t.tenant_id = $1::UUID
AND (t.created_by = $2::UUID OR t.assignee_id = $2::UUID OR (EXISTS (SELECT "own far".team_id
FROM team_members AS "own far"
WHERE "own far".tenant_id = $1::UUID
AND NOT "own far".is_deleted
AND "own far".user_id = $2::UUID
AND (EXISTS (SELECT
FROM teams AS "own near"
WHERE "own near".tenant_id = $1::UUID
AND NOT "own near".is_deleted
AND "own near".id = "own far".team_id
LIMIT ALL OFFSET 0))
AND "own far".team_id = t.team_id)) OR (EXISTS (SELECT "own share".row_id
FROM row_shares AS "own share"
WHERE "own share".tenant_id = $1::UUID
AND "own share".user_id = $2::UUID
AND "own share".entity = 'tasks'
AND "own share".level IN ('read', 'update')
AND "own share".row_id = t.id)))
AND NOT t.is_deleted
AND t.id = $3::UUID

-- bundles?fields=tagIds&count=none
SELECT r.id AS id, array((SELECT l.target_id
FROM bundles__tag_ids AS l
WHERE l.tenant_id = $1::UUID
AND l.source_id = r.id
AND coalesce(EXISTS (SELECT
FROM tags AS lt
WHERE lt.tenant_id = $1::UUID
AND NOT lt.is_deleted
AND lt.id = l.target_id), false)
ORDER BY l.place, l.target_id)) AS "tagIds", CASE WHEN (r."the place" = $2::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $2::INTEGER) THEN r."sort 2" END AS "sort 2", CAST(NULL AS BIGINT) AS total
FROM (SELECT r.id AS id, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.created_at AS "sort 1", t.id AS "sort 2"
FROM bundles AS t
WHERE t.tenant_id = $1::UUID
AND NOT t.is_deleted
ORDER BY t.created_at DESC, t.id DESC
LIMIT $2::INTEGER + 1 OFFSET $3::BIGINT) AS r) AS r
WHERE $4::BOOLEAN OR (SELECT count(*) AS count_1
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0

-- bundles/{id}?fields=tagIds
SELECT t.id AS id, array((SELECT l.target_id
FROM bundles__tag_ids AS l
WHERE l.tenant_id = $1::UUID
AND l.source_id = t.id
AND (EXISTS (SELECT
FROM tags AS lt
WHERE lt.tenant_id = $1::UUID
AND NOT lt.is_deleted
AND lt.id = l.target_id
LIMIT ALL OFFSET 0))
ORDER BY l.place, l.target_id)) AS "tagIds", t.version AS seen
FROM bundles AS t
WHERE t.tenant_id = $1::UUID
AND NOT t.is_deleted
AND t.id = $2::UUID

-- items?fields=planIds&count=none
SELECT r.id AS id, array((SELECT l.target_id
FROM items__plan_ids AS l
WHERE l.tenant_id = $1::UUID
AND l.source_id = r.id
ORDER BY l.place, l.target_id)) AS "planIds", CASE WHEN (r."the place" = $2::INTEGER) THEN r."sort 1" END AS "sort 1", CASE WHEN (r."the place" = $2::INTEGER) THEN r."sort 2" END AS "sort 2", CAST(NULL AS BIGINT) AS total
FROM (SELECT r.id AS id, r."sort 1" AS "sort 1", r."sort 2" AS "sort 2", row_number() OVER () AS "the place"
FROM (SELECT t.id AS id, t.code AS "sort 1", t.id AS "sort 2"
FROM items AS t
WHERE t.tenant_id = $1::UUID
AND NOT t.is_deleted
ORDER BY t.code, t.id
LIMIT $2::INTEGER + 1 OFFSET $3::BIGINT) AS r) AS r
WHERE $4::BOOLEAN OR (SELECT count(*) AS count_1
FROM generate_series(1, 1000000000) AS "any 0", generate_series(1, 1000000000) AS "any 1") > 0
