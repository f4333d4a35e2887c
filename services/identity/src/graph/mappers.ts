/** The types of the objects that resolvers get, where they differ from the schema's types. `scripts/generate` reads their names. */
export type { MonthlySpend as ApiUsageSummaryDto } from '../spend/usage-store.ts';
