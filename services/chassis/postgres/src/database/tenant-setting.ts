/**
 * SQL that makes a transaction of `transact` go on as the tenant `:tenantId`: the statements after it see that tenant's rows only. For
 * a transaction that changes rows of many tenants at once.
 */
export const enterTenant = `set_config('parley.tenant', cast(cast(:tenantId AS integer) AS text), true)`;
