import { createHash } from 'node:crypto';
import type { JSONSchema7 } from '@ai-sdk/provider';
import { measureJson } from '@parley/json-schema/json-size';
import { withinProcessorTime } from '@parley/json-schema/within-processor-time';
import { isJsonObject } from '@parley/kernel/json';
import { LRUCache } from 'lru-cache';
import type { ModelTool } from './model.ts';

/** A tool in the form that every format accepts. */
export interface DeclaredTool {
  description: string;
  inputSchema: JSONSchema7;
}

type Schema = Record<string, unknown>;

/** Limits of a tool's schema. The same limits apply to schemas by which arguments are validated. */
const sizeLimits = { maxBytes: 65_536, maxDepth: 64, maxValues: 8_000 };
const maxDepth = 8;
const maxNodes = 1_000;
const maxPropertiesOfAll = 400;
/** Maximum of keys and values that a conversion reads or copies, because a short schema can refer to a long part of itself many times. */
const maxSteps = 20_000;
/** This many characters of a text count as one step. */
const charactersPerStep = 50;
const maxReferenceLength = 1_000;
/** Time limit of a conversion, far more than the allowed steps take. */
const convertMs = 50;
const maxDescriptionLength = 500;
const maxEnumValues = 100;
const maxSchemaLength = 24_000;
const maxQuotedSchemaLength = 3_000;

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean'] as const;
type Type = (typeof types)[number];

/** Matches the property keys that Anthropic accepts. */
const takenKey = /^[\w.-]{1,64}$/u;

/** Thrown if a schema is too large, or does not describe an object. The model then gets the schema as text. */
class UnsentSchema extends Error {}

/** The converted schema, and the note that is added to the tool's description. */
interface Converted {
  schema: JSONSchema7;
  note: string | undefined;
}

/** Results of conversions, failures included, by the schema's hash. Cached, because each turn declares its tools again. */
const converted = new LRUCache<string, Converted>({
  max: 2_000,
  maxSize: 16_000_000,
  sizeCalculation: ({ schema, note = '' }) => JSON.stringify(schema).length + note.length + 100,
});
const declared = new WeakMap<ModelTool, DeclaredTool>();
const plain = new WeakMap<ModelTool, ModelTool>();

/**
 * Converts a tool's schema to a form that every format accepts: an object with properties, each with one type or a
 * choice, without references and unsupported keywords. Constraints that this form cannot express are added to
 * descriptions; a schema that cannot be converted is added to the tool's description.
 */
export function declaredTool(tool: ModelTool): DeclaredTool {
  const known = declared.get(tool);
  if (known) return known;
  const made = declare(tool);
  declared.set(tool, made);
  return made;
}

/** Returns the tool with its schema only as text, for a model that refuses tool schemas. */
export function plainTool(tool: ModelTool): ModelTool {
  const known = plain.get(tool) ?? { ...tool, ...inWords(tool) };
  plain.set(tool, known);
  return known;
}

function declare({ description, inputSchema }: ModelTool): DeclaredTool {
  const { schema, note } = convertOnce(inputSchema);
  return { description: joined(description, note), inputSchema: schema };
}

function convertOnce(given: unknown): Converted {
  if (measureJson(given ?? null, sizeLimits).problem !== undefined) return quoted(given);
  const key = createHash('sha256')
    .update(JSON.stringify(given ?? null))
    .digest('base64');
  const known = converted.get(key);
  if (known) return known;
  const made = convert(given);
  converted.set(key, made);
  return made;
}

function convert(given: unknown): Converted {
  try {
    const made = withinProcessorTime(convertMs, () => {
      const root = rootOf(given);
      return JSON.stringify(root.schema).length > maxSchemaLength ? quoted(given) : root;
    });
    return made ?? quoted(given);
  } catch (error) {
    if (error instanceof UnsentSchema || error instanceof RangeError) return quoted(given);
    throw error;
  }
}

function inWords({ description, inputSchema }: ModelTool): DeclaredTool {
  const { schema, note } = quoted(inputSchema);
  return { description: joined(description, note), inputSchema: schema };
}

function quoted(given: unknown): Converted {
  const isEmpty = !isJsonObject(given) || Object.keys(given).length === 0;
  const note = isEmpty ? undefined : `Its arguments have this JSON Schema: ${quotedSchema(given)}`;
  return { schema: emptyObject(), note };
}

function quotedSchema(schema: Schema): string {
  try {
    return cut(JSON.stringify(schema), maxQuotedSchemaLength);
  } catch {
    return 'any';
  }
}

/** Converts the root of a schema. Merges the properties of all branches of a choice, because no format accepts a choice at the root. */
function rootOf(given: unknown): Converted {
  if (given === true || given === undefined || given === null) return { schema: emptyObject(), note: undefined };
  if (!isJsonObject(given)) throw new UnsentSchema();
  const conversion = converter(given);
  const root = conversion.flattened(given);
  const type = root['type'] ?? 'object';
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) throw new UnsentSchema();
  const { properties = {}, required, description } = conversion.objectOf(root, 0);
  return {
    schema: { type: 'object', properties, ...(required && { required }) },
    note: typeof description === 'string' ? description : undefined,
  };
}

function emptyObject(): JSONSchema7 {
  return { type: 'object', properties: {} };
}

function converter(root: Schema) {
  let nodes = 0;
  let propertyCount = 0;
  let steps = 0;
  const targets = new Map<string, unknown>();

  /** Counts steps; called before the steps are taken. @throws UnsentSchema above the limit */
  function spend(more: number): void {
    if ((steps += more) > maxSteps) throw new UnsentSchema();
  }

  function spendOnText(value: unknown): void {
    spend((JSON.stringify(value)?.length ?? 0) / charactersPerStep);
  }

  function propertiesIn({ properties }: Schema): [string, unknown][] {
    if (!isJsonObject(properties)) return [];
    spend(Object.keys(properties).length);
    return Object.entries(properties);
  }

  function namesIn(value: unknown): string[] {
    if (!Array.isArray(value)) return [];
    spend(value.length);
    return value.filter((name) => typeof name === 'string');
  }

  function listOf(value: unknown): Schema[] {
    if (!Array.isArray(value)) return [];
    spend(value.length);
    return value.filter(isJsonObject);
  }

  function merged(schemas: readonly Schema[]): Schema {
    for (const schema of schemas) spend(Object.keys(schema).length);
    return Object.assign({}, ...schemas);
  }

  function targetOf(reference: string): unknown {
    if (!targets.has(reference)) targets.set(reference, at(root, reference));
    return targets.get(reference);
  }

  /** Resolves a schema's reference, and merges the sibling keywords of the reference. */
  function resolved(given: Schema): Schema | boolean {
    const chain = [given];
    for (let schema = given; ; ) {
      const reference = schema['$ref'] ?? schema['$dynamicRef'];
      if (typeof reference !== 'string') break;
      const target = targetOf(reference);
      if (!isJsonObject(target)) return typeof target === 'boolean' ? target : true;
      if (chain.unshift(target) > maxDepth) return true;
      schema = target;
    }
    if (chain.length === 1) return given;
    const { $ref: _, $dynamicRef: __, ...found } = merged(chain);
    return found;
  }

  /** Merges the parts of `allOf` into the schema, and at the root also the branches of choices. */
  function flattened(given: Schema, withChoices = true, depth = 0): Schema {
    const schema = resolved(given);
    if (!isJsonObject(schema)) return {};
    if (depth > maxDepth || (nodes += 1) > maxNodes) throw new UnsentSchema();
    const all = listOf(schema['allOf']).map((part) => flattened(part, withChoices, depth + 1));
    const choices = withChoices
      ? [schema['anyOf'], schema['oneOf']]
          .map((choice) => listOf(choice).map((part) => flattened(part, true, depth + 1)))
          .filter(({ length }) => length > 0)
      : [];
    if (all.length === 0 && choices.length === 0) return schema;
    const { allOf: _, ...rest } = schema;
    if (withChoices) for (const key of ['anyOf', 'oneOf']) delete rest[key];
    const isRequired = choices.flatMap((choice) =>
      choice
        .map((each) => namesIn(each['required']))
        .reduce((common, names) => {
          const all = new Set(names);
          return common.filter((name) => all.has(name));
        }),
    );
    const parts = [...all, ...choices.flat()];
    const required = [
      ...namesIn(schema['required']),
      ...all.flatMap((part) => namesIn(part['required'])),
      ...isRequired,
    ];
    const properties = Object.fromEntries([...parts, schema].flatMap((part) => propertiesIn(part)));
    return {
      ...merged([...parts.toReversed(), rest]),
      ...(Object.keys(properties).length > 0 && { properties }),
      required,
    };
  }

  /**
   * Converts a schema below the root.
   * @param references the references that are being resolved; a reference that occurs again is recursive, and the
   * conversion ends there
   */
  function nodeOf(given: unknown, depth: number, references: readonly string[]): JSONSchema7 {
    if ((nodes += 1) > maxNodes) throw new UnsentSchema();
    if (!isJsonObject(given)) return anything();
    const reference = given['$ref'] ?? given['$dynamicRef'];
    if (depth >= maxDepth || (typeof reference === 'string' && references.includes(reference))) {
      return anything(descriptionOf(given));
    }
    const within = typeof reference === 'string' ? [...references, reference] : references;
    const schema = flattened(given, false);
    const choices = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])];
    if (choices.length > 0 && !isJsonObject(schema['properties'])) return choiceOf(schema, choices, depth, within);
    const values = 'const' in schema ? [schema['const']] : Array.isArray(schema['enum']) ? schema['enum'] : undefined;
    if (values) {
      spend(values.length);
      spendOnText(values);
      return valuesOf(values, descriptionOf(schema));
    }
    if (Array.isArray(schema['type'])) spend(schema['type'].length);
    const named = typesIn(schema);
    if (named.length === 0) return anything(descriptionOf(schema));
    return either(
      named.map((type) => (type === 'null' ? { type } : typed(type, schema, depth, within))),
      undefined,
    );
  }

  function choiceOf(schema: Schema, choices: Schema[], depth: number, references: readonly string[]): JSONSchema7 {
    const branches = choices.map((choice) => nodeOf(choice, depth + 1, references));
    return either(
      branches.flatMap((branch) => (branch.anyOf as JSONSchema7[] | undefined) ?? [branch]),
      descriptionOf(schema),
    );
  }

  function typed(type: Type, schema: Schema, depth: number, references: readonly string[]): JSONSchema7 {
    if (type === 'object') return { type, ...objectOf(schema, depth, references) };
    const description = descriptionOf(schema);
    const described = description === undefined ? {} : { description };
    if (type === 'array') return { type, ...described, items: itemsOf(schema, depth, references) };
    return { type, ...described, ...boundsIn(schema, type === 'string' ? stringBounds : numberBounds) };
  }

  function itemsOf(schema: Schema, depth: number, references: readonly string[]): JSONSchema7 {
    const { items, prefixItems } = schema;
    const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
    if (!tuple) return nodeOf(items, depth + 1, references);
    return either(
      tuple.slice(0, 10).map((item) => nodeOf(item, depth + 1, references)),
      undefined,
    );
  }

  function objectOf(schema: Schema, depth: number, references: readonly string[] = []): JSONSchema7 {
    const entries = propertiesIn(schema).filter(([, value]) => value !== false);
    const isTaken = ([key]: [string, unknown]) => takenKey.test(key) && key !== '__proto__';
    const taken = entries.filter(isTaken);
    const others = entries.filter((entry) => !isTaken(entry)).map(([key]) => JSON.stringify(cut(key, 100)));
    propertyCount += taken.length;
    if (propertyCount > maxPropertiesOfAll) throw new UnsentSchema();
    const properties = Object.fromEntries(
      taken.map(([key, value]) => [key, nodeOf(value, depth + 1, references)] as const),
    );
    const required = [...new Set(namesIn(schema['required']))].filter((name) => Object.hasOwn(properties, name));
    const { additionalProperties: more } = schema;
    const free =
      isJsonObject(more) && taken.length === 0 && depth > 0 ? nodeOf(more, depth + 1, references) : undefined;
    const description = joined(
      descriptionOf(schema),
      others.length === 0 ? undefined : cut(`Further properties: ${others.join(', ')}.`, maxDescriptionLength),
    );
    return {
      ...(description !== '' && { description }),
      ...((taken.length > 0 || depth === 0) && { properties }),
      ...(required.length > 0 && { required }),
      ...(free && { additionalProperties: free }),
    };
  }

  function descriptionOf(schema: Schema): string | undefined {
    for (const key of ['description', 'title', 'default']) spendOnText(schema[key]);
    return descriptionIn(schema);
  }

  return { flattened, objectOf };
}

/** Builds a choice without sibling keywords, because Google refuses them; the description is added to the first branch. */
function either(given: JSONSchema7[], description: string | undefined): JSONSchema7 {
  const branches = [...new Map(given.map((branch) => [JSON.stringify(branch), branch])).values()];
  const [first = anything(), ...rest] = branches;
  if (first.anyOf && rest.length === 0) return first;
  const described =
    description === undefined ? first : { ...first, description: joined(description, first.description) };
  return rest.length === 0 ? described : { anyOf: [described, ...rest] };
}

function anything(description?: string): JSONSchema7 {
  const choices: JSONSchema7[] = [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'object' }];
  return either([...choices, { type: 'array', items: { type: 'string' } }], description);
}

/** Lists the allowed values. Google accepts lists of strings only, so other values are named in the description. */
function valuesOf(values: unknown[], description: string | undefined): JSONSchema7 {
  const strings = values.filter((value) => typeof value === 'string');
  const others = values.filter((value) => typeof value !== 'string' && value !== null);
  const branches: JSONSchema7[] = [];
  if (strings.length > 0) {
    const isListed = strings.length <= maxEnumValues && !strings.includes('');
    branches.push(
      isListed
        ? { type: 'string', enum: [...new Set(strings.map((text) => text.toWellFormed()))] }
        : oneOf('string', strings),
    );
  }
  for (const type of ['number', 'boolean', 'object'] as const) {
    const ofType = others.filter((value) => typeof value === type);
    if (ofType.length > 0) branches.push(oneOf(type, ofType));
  }
  if (values.includes(null)) branches.push({ type: 'null' });
  return either(branches, description);
}

function oneOf(type: Type, values: unknown[]): JSONSchema7 {
  return {
    type,
    description: cut(
      `One of: ${values
        .slice(0, maxEnumValues)
        .map((value) => JSON.stringify(value))
        .join(', ')}`,
      maxDescriptionLength,
    ),
  };
}

function typesIn(schema: Schema): (Type | 'null')[] {
  const given = Array.isArray(schema['type']) ? schema['type'] : [schema['type']];
  const known = [...new Set(given)].filter((type): type is Type | 'null' => type === 'null' || types.includes(type));
  if (known.length > 0) return known;
  if (isJsonObject(schema['properties'])) return ['object'];
  if ('items' in schema || 'prefixItems' in schema) return ['array'];
  if (['pattern', 'minLength', 'maxLength'].some((key) => key in schema)) return ['string'];
  return ['minimum', 'maximum', 'multipleOf'].some((key) => key in schema) ? ['number'] : [];
}

const stringBounds = ['minLength', 'maxLength'] as const;
const numberBounds = ['minimum', 'maximum'] as const;

function boundsIn(schema: Schema, names: readonly (typeof stringBounds | typeof numberBounds)[number][]): JSONSchema7 {
  return Object.fromEntries(
    names
      .map((name) => [name, schema[name]])
      .filter(([, value]) => typeof value === 'number' && Number.isFinite(value)),
  );
}

/** Returns the description, extended by keywords that only some formats support. */
function descriptionIn(schema: Schema): string | undefined {
  const said = [schema['description'], schema['title']].find((text) => typeof text === 'string' && text.trim() !== '');
  const words = ['format', 'pattern', 'default'].flatMap((key) => {
    const value = key === 'default' ? JSON.stringify(schema[key]) : schema[key];
    return typeof value === 'string' ? [`${key}: ${cut(value, 100)}`] : [];
  });
  const all = [
    typeof said === 'string' ? cut(said, maxDescriptionLength) : '',
    words.length > 0 ? `(${words.join('; ')})` : '',
  ];
  return all.filter(Boolean).join(' ') || undefined;
}

/** Returns the target of a JSON pointer within the schema. Nothing is ever fetched. */
function at(root: Schema, reference: string): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/') || reference.length > maxReferenceLength) return undefined;
  let found: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    const isItem = Array.isArray(found) || isJsonObject(found);
    found = isItem && Object.hasOwn(found as object, key) ? (found as Schema)[key] : undefined;
  }
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function joined(...texts: (string | undefined)[]): string {
  return texts
    .filter((text) => text !== undefined && text.trim() !== '')
    .join('\n\n')
    .toWellFormed();
}

function cut(text: string, length: number): string {
  return (text.length <= length ? text : `${text.slice(0, length)}…`).toWellFormed();
}
