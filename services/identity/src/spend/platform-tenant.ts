/**
 * The ledger id that stands for the platform itself. Model calls of operators are charged to it rather than to a
 * tenant, and bounded by the platform's ceiling alone. The ledger lock with this id also protects the rows that tenants
 * share.
 */
export const platformTenant = 0;
