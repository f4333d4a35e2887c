/**
 * SQL that makes a transaction of `transact` continue as the tenant `:tenantId`: later statements see only the rows of that tenant. For a
 * transaction that changes rows of many tenants at once.
 */
export const enterTenant = `set_config('parley.tenant', cast(cast(:tenantId AS integer) AS text), true)`;
