import { column, type RowOf, table } from '@parley/postgres/database/table';

/** Subquery for a field of the published version in `workflow_versions`. */
const ofPublished = (field: string) => (of: string) =>
  `(SELECT published.${field} FROM workflow_versions published WHERE published.tenant_id = ${of}.tenant_id
      AND published.workflow_id = ${of}.id AND published.version = ${of}.published_version)`;

const emptyJson = "'{}'::json";

export const workflows = table('workflows', {
  id: column<number>(),
  tenantId: column<number>(),
  name: column<string>({ long: "''" }),
  description: column<string | null>({ long: 'NULL' }),
  /** The draft: a JSON object, valid or not. */
  draft: column<object>({ long: emptyJson, json: true }),
  /** Null until the first publication. */
  publishedVersion: column<number | null>(),
  published: column<object | null>({ long: 'NULL', sql: ofPublished('definition') }),
  publishedAt: column<Date | null>({ sql: ofPublished('published_at') }),
  /** A deleted workflow keeps its versions for the sessions that run them. */
  deletedAt: column<Date | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type Workflow = RowOf<typeof workflows>;
export type WorkflowFields = Pick<Workflow, 'name' | 'description' | 'draft'>;

export const workflowVersions = table('workflow_versions', {
  tenantId: column<number>(),
  workflowId: column<number>(),
  version: column<number>(),
  definition: column<object>({ long: emptyJson, json: true }),
  publishedAt: column<Date>(),
  publishedBy: column<number | null>(),
});

export type WorkflowVersion = RowOf<typeof workflowVersions>;
