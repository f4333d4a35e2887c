/** The roles a schema's transactions run under. They cannot log in, own nothing and bypass nothing. */
export interface SchemaRoles {
  tenant: string;
  shared: string;
}

/**
 * Names that stand in SQL without quotes and without escaping, so they are held to letters, digits and `_`. Short
 * enough that a role's suffix still fits into PostgreSQL's 63 bytes.
 */
export function checkedSchemaName(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,54}$/.test(name)) {
    throw new TypeError(`schema name ${JSON.stringify(name)} is not 1 to 55 of [a-z0-9_] beginning with a letter`);
  }
  return name;
}

export function rolesOf(schemaName: string): SchemaRoles {
  return { tenant: `${schemaName}_tenant`, shared: `${schemaName}_shared` };
}

/** Tenant ids are written into SQL as they are, so nothing but a positive 32-bit integer passes. */
export function checkedTenantId(tenantId: number): number {
  if (!Number.isInteger(tenantId) || tenantId < 1 || tenantId > 2_147_483_647) {
    throw new TypeError(`tenant id ${tenantId} is not a positive 32-bit integer`);
  }
  return tenantId;
}
