import { compileSchema } from '@parley/json-schema/compile-schema';
import { patternsOf } from '@parley/json-schema/linear-regexp';
import schema from './definition.schema.json' with { type: 'json' };
import type { WorkflowIssue } from './definition.ts';

/** The JSON Schema of definitions, for editors and for models that write definitions. */
export const definitionSchema: object = schema;

type ValidateFunction = ReturnType<typeof compileSchema>;
type ErrorObject = NonNullable<ValidateFunction['errors']>[number];

/** Keywords whose errors only summarize errors of other keywords, which are reported anyway. */
const summaries = new Set(['allOf', 'if', '$ref', 'propertyNames', 'not']);

const maxKeyLength = 100;

let compiled: ValidateFunction | undefined;

/** Compiles the schema. This takes as long as one check of the largest definition. */
export function compileShape(): ValidateFunction {
  return (compiled ??= compileSchema(definitionSchema, {
    dialect: '2020-12',
    all: true,
    patterns: patternsOf({ isLenient: false }),
  }));
}

/** Returns the JSON Schema errors of a definition in plain words, one per path. */
export function checkShape(definition: unknown): WorkflowIssue[] {
  const check = compileShape();
  if (check(definition)) return [];
  const issues = new Map<string, string>();
  for (const error of check.errors ?? []) {
    if (summaries.has(error.keyword) && !isForbiddenName(error)) continue;
    if (error.schemaPath.includes('/oneOf/')) continue;
    const path = pathOf(error);
    if (!issues.has(path)) issues.set(path, messageOf(error));
  }
  return [...issues].map(([path, message]) => ({ path, message }));
}

/** Reports whether a name is forbidden. The only such name that matches the pattern for names is `__proto__`. */
function isForbiddenName(error: ErrorObject): boolean {
  return error.keyword === 'not';
}

function pathOf({ instancePath, params, propertyName }: ErrorObject): string {
  const keys = instancePath
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const named: unknown = params['missingProperty'] ?? params['additionalProperty'] ?? propertyName;
  return (typeof named === 'string' ? [...keys, named] : keys).map(shortened).join('.');
}

const typeNames: Record<string, string> = {
  string: 'a text',
  integer: 'a whole number',
  object: 'an object',
  array: 'a list',
  'array,string': 'a list, or a template that is one',
};

const patternRules: Record<string, string> = {
  '\\S': 'must not be blank',
  [schema.$defs.name.pattern]: 'must be 1 to 64 letters, digits, _ and -, of which the first is a letter or _',
  [schema.$defs.router.properties.routes.items.properties.label.pattern]:
    'must be one line of 1 to 64 characters without spaces around it',
};

function messageOf({ keyword, params, message = 'must be valid' }: ErrorObject): string {
  const limit = String(params['limit']);
  switch (keyword) {
    case 'required':
      return 'must be given';
    case 'additionalProperties':
    case 'false schema':
      return 'must not be given';
    case 'type':
      return `must be ${typeNames[String(params['type'])] ?? String(params['type'])}`;
    case 'enum':
      return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`;
    case 'oneOf':
      return 'must have connectorId and tool, or actionId';
    case 'minItems':
    case 'minProperties':
      return `must have at least ${limit}`;
    case 'maxItems':
    case 'maxProperties':
      return `must have at most ${limit}`;
    case 'maxLength':
      return `must have at most ${limit} characters`;
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'not':
      return 'is a name that is not allowed';
    case 'pattern':
      return patternRules[String(params['pattern'])] ?? message;
    default:
      return message;
  }
}

function shortened(key: string): string {
  return (key.length > maxKeyLength ? `${key.slice(0, maxKeyLength)}…` : key).toWellFormed();
}
