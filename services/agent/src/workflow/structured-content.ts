import { z } from 'zod';
import type { Json, JsonObject } from './definition.ts';

const line = z.string().trim().min(1).max(500);
const text = z.string().trim().min(1).max(10_000);
const link = z.url({ protocol: /^https?$/u }).max(2_048);
const scalar = z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]);

const button = z
  .strictObject({ label: line, url: link.optional(), value: text.optional() })
  .refine(({ url, value }) => (url === undefined) !== (value === undefined), 'must have either url or value');

const card = z.strictObject({
  kind: z.literal('card'),
  title: line,
  subtitle: line.optional(),
  body: text.optional(),
  imageUrl: link.optional(),
  buttons: z.array(button).max(10).optional(),
});

const table = z
  .strictObject({
    kind: z.literal('table'),
    columns: z.array(z.string().max(500)).min(1).max(20),
    rows: z.array(z.array(scalar)).max(200),
  })
  .refine(
    ({ columns, rows }) => rows.every((row) => row.length === columns.length),
    'must have a value for each column',
  );

const list = z.strictObject({
  kind: z.literal('list'),
  items: z.array(z.strictObject({ title: line, description: text.optional(), url: link.optional() })).max(100),
});

/** Discriminated by kind, so that reported problems are those of the given kind. */
const structuredContent = z.discriminatedUnion('kind', [card, table, list]);

export type StructuredContent = z.output<typeof structuredContent>;

/**
 * Parses rendered content into the form that clients get. Null and empty fields of objects are dropped, because a
 * template writes nothing for a missing value. Links must be http or https. @throws Error that says what is wrong
 */
export function parseStructuredContent(rendered: Json): StructuredContent {
  const parsed = structuredContent.safeParse(withoutEmpty(rendered));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`structuredContent.${issue?.path.join('.')}: ${issue?.message}`.slice(0, maxReasonLength));
}

const maxReasonLength = 200;

function withoutEmpty(json: Json): Json {
  if (Array.isArray(json)) return json.map(withoutEmpty);
  if (typeof json !== 'object' || json === null) return json;
  const fields = Object.entries(json).filter(([, value]) => value !== null && value !== '');
  return Object.fromEntries(fields.map(([key, value]) => [key, withoutEmpty(value)])) satisfies JsonObject;
}
