/**
 * Checks and returns the name of a schema. SQL uses the name unquoted and unescaped, so only letters, digits and `_` are allowed. The limit
 * of 55 characters leaves room for a role's suffix within PostgreSQL's 63 bytes.
 * @throws TypeError for an invalid name
 */
export function checkedSchemaName(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,54}$/.test(name)) {
    throw new TypeError(`schema name ${JSON.stringify(name)} is not 1 to 55 of [a-z0-9_] beginning with a letter`);
  }
  return name;
}

/** Returns the roles of a schema's transactions. The roles cannot log in, own nothing and do not bypass row-level security. */
export function rolesOf(schemaName: string) {
  return { tenant: `${schemaName}_tenant`, shared: `${schemaName}_shared` };
}

/**
 * The tenant id of jobs that belong to no tenant, such as mail to a person. No row of a tenant table has this id, because tenant ids begin
 * with 1.
 */
export const noTenant = 0;

/**
 * Checks and returns the tenant id, which SQL uses unescaped.
 * @throws TypeError if the id is not a positive 32-bit integer.
 */
export function checkedTenantId(tenantId: number): number {
  if (!Number.isInteger(tenantId) || tenantId < 1 || tenantId > 2_147_483_647) {
    throw new TypeError(`tenant id ${tenantId} is not a positive 32-bit integer`);
  }
  return tenantId;
}

/** Returns the tenant id as `checkedTenantId` does, and also accepts `noTenant`. */
export function checkedTenantOrNone(tenantId: number): number {
  return tenantId === noTenant ? tenantId : checkedTenantId(tenantId);
}
