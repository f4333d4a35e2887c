import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { CredentialKind } from '@parley/graph/access';
import { withSharedSdl } from '@parley/graph/shared-sdl';
import { errorTable } from '@parley/kernel/error-table';
import { type ApiExample, type ListedError, readApiErrors } from '@parley/stories/api-sources';
import { type ContractRule, readContract } from '@parley/stories/contract';
import {
  buildASTSchema,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isObjectType,
  isScalarType,
  OperationTypeNode,
  parse,
} from 'graphql';
import { linkLines, pageWidth, wrapped } from './wrapped.ts';

type Field = GraphQLField<unknown, unknown>;
type Operation = Field & { kind: OperationTypeNode };

/** The sources of one subgraph's page. */
export interface ApiPageSources {
  /** The name of the unit that serves the subgraph. */
  unit: string;
  /** The subgraph's schema, without the definitions that all subgraphs share. */
  sdl: string;
  /** The rules of operations, by type and field. */
  contract: ReadonlyMap<string, ContractRule>;
  /** The errors of operations, by name. */
  errors: ReadonlyMap<string, ListedError[]>;
  /** An example of each operation. */
  examples: ApiExample[];
}

const list = /(?<=<!-- operations -->\n).*?(?=<!-- end of operations -->)/su;

/**
 * Returns a page for each subgraph, `gateway/api/<unit>.md`, and `gateway/API.md`, whose two markers enclose links to all operations.
 * `problems` lists the missing parts of operations, such as examples. Pages are generated even if parts are missing, because writing an
 * example needs the other generated files.
 */
export function apiPages(root: string) {
  const [contract, errors] = [readContract(), readApiErrors()];
  const subgraphs = globSync('services/*/src/schema.graphql', { cwd: root })
    .toSorted()
    .map((path) => {
      const unit = basename(dirname(dirname(path)));
      const sdl = readFileSync(join(root, path), 'utf8');
      const file = join(root, `gateway/api/examples/${unit}.json`);
      const examples: ApiExample[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
      return { unit, sdl, contract, errors, examples };
    });
  const pages = subgraphs.map((sources) => ({ path: `gateway/api/${sources.unit}.md`, ...apiPage(sources) }));
  const path = 'gateway/API.md';
  const links = subgraphs.map(({ unit, sdl }) => `\n### ${unit}\n\n${linksTo(operationsOf(sdl), `api/${unit}.md`)}`);
  const text = readFileSync(join(root, path), 'utf8').replace(list, `${links.join('')}\n`);
  const texts = [...pages.map((page) => ({ path: page.path, text: page.text })), { path, text }];
  return { texts, problems: pages.flatMap(({ problems }) => problems) };
}

export function apiPage({ unit, sdl, contract, errors, examples }: ApiPageSources) {
  const problems: string[] = [];
  const operations = operationsOf(sdl);
  const sections = operations.map((operation) => {
    const { name, description, kind } = operation;
    const rule = contract.get(`${typeNames[kind]}.${name}`);
    const listed = errors.get(name);
    const example = examples.find((each) => each.operation === name);
    if (!rule) problems.push(`gateway/contract.json has no ${typeNames[kind]}.${name}`);
    if (!listed) problems.push(`gateway/api/errors.json has no ${name}`);
    if (!example) problems.push(`gateway/api/examples/${unit}.json has no ${name}: see gateway/ADD-AN-OPERATION.md`);
    for (const { code } of listed ?? [])
      if (!codes.has(code)) problems.push(`gateway/api/errors.json has the code ${code}, which is none`);
    return [
      `## ${name}\n`,
      `${wrapped(plain(description ?? ''))}\n`,
      ...(rule ? [rulesOf(operation, rule)] : []),
      argumentsOf(operation),
      ...(listed ? [errorsOf(listed)] : []),
      ...(example ? [exampleOf(example)] : []),
    ].join('\n');
  });
  const types = typesOf(operations).map((type) => `${typeSection(type)}\n`);
  const text = `<!-- Written by scripts/generate from services/${unit}/src/schema.graphql,
gateway/contract.json, gateway/api/errors.json and
gateway/api/examples/${unit}.json. -->

# Operations of ${unit}

${wrapped(`[API.md](../API.md) explains requests, credentials and errors. [Types](#types) are at the end of this page.`)}

${linksTo(operations)}
${sections.join('\n')}
## Types

${types.join('\n')}`;
  return { text, problems };
}

const typeNames = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' };

function schemaOf(sdl: string): GraphQLSchema {
  return buildASTSchema(parse(withSharedSdl(sdl)), { assumeValidSDL: true });
}

function operationsOf(sdl: string): Operation[] {
  const schema = schemaOf(sdl);
  return Object.values(OperationTypeNode).flatMap((kind) =>
    Object.values(schema.getRootType(kind)?.getFields() ?? {}).map((field) => ({ ...field, kind })),
  );
}

/** Returns a line of links for each kind of operation. */
function linksTo(operations: Operation[], page = ''): string {
  const kinds = [
    ['query', 'Queries'],
    ['mutation', 'Mutations'],
    ['subscription', 'Subscriptions'],
  ];
  return kinds
    .flatMap(([kind, title]) => {
      const links = operations
        .filter((operation) => operation.kind === kind)
        .map(({ name }) => `[${name}](${page}#${name.toLowerCase()})`);
      return links.length > 0 ? `${title}:\n${linkLines(links)}\n` : [];
    })
    .join('\n');
}

const credentials: Record<CredentialKind, string> = {
  JWT: 'access token',
  API_KEY: 'API key',
  SESSION_TOKEN: 'session token',
};

function rulesOf({ kind, type }: Operation, rule: ContractRule): string {
  const { by, throttle, whileLimited, withoutTenant, longBody, longRunning } = rule;
  const whileSuspended = rule.whileSuspended ?? kind === 'query';
  const others = by.includes('JWT')
    ? [
        whileSuspended && 'members of a suspended tenant',
        withoutTenant && 'people without a tenant',
        whileLimited && 'a sign-in without its second factor or proof of email',
      ].filter((each) => typeof each === 'string')
    : [];
  const closed = throttle?.failsClosed ? '; `UNAVAILABLE` while gateways cannot share their counts' : '';
  return [
    `- ${kind}, answers ${typeLink(type)}`,
    `- credential: ${by.map((each) => credentials[each]).join(' or ') || 'none'}`,
    ...(others.length > 0 ? [`- also for: ${others.join(', ')}`] : []),
    throttle
      ? `- throttle: ${throttle.requests} calls in ${throttle.windowSeconds} s from one client address${closed}`
      : '- throttle: none',
    ...(longBody ? ['- body: up to `GATEWAY_MAX_LONG_BODY_BYTES`'] : []),
    ...(longRunning ? ['- may take long: up to `GATEWAY_LONG_CALL_TIMEOUT_MS`'] : []),
    '',
  ]
    .map((line) => wrapped(line, '  '))
    .join('\n');
}

function argumentsOf({ args }: Operation): string {
  const rows = args.flatMap(({ name, type, description, defaultValue }) =>
    valuesIn(name, type, description, defaultValue),
  );
  return rows.length > 0 ? `Arguments:\n\n${rows.join('\n')}\n` : 'Arguments: none.\n';
}

/** Returns the line of an argument's value and, for an input type, the lines of its fields. */
function valuesIn(path: string, type: GraphQLInputType, description?: string | null, preset?: unknown): string[] {
  const named = getNamedType(type);
  const standard = preset === undefined || preset === null ? '' : ` = ${String(preset)}`;
  const line = itemOf(path, `${typeLink(type)}${standard}`, description);
  if (!isInputObjectType(named)) return [line];
  const own = isListType(getNullableType(type)) ? `${path}[]` : path;
  const head = path.includes('.') ? line : itemOf(path, typeLink(type), named.description);
  return [
    head,
    ...Object.values(named.getFields()).flatMap((field) =>
      valuesIn(`${own}.${field.name}`, field.type, field.description, field.defaultValue),
    ),
  ];
}

/** Returns a line with the name and type of a value. */
function itemOf(name: string, type: string, description?: string | null): string {
  return wrapped(`- \`${name}\` (${type})${description ? `: ${plain(description)}` : ''}`, '  ');
}

const codes = new Set(Object.values(errorTable).map(({ code }) => code));

function errorsOf(errors: ListedError[]): string {
  const common = '[those of any operation](../API.md#errors)';
  if (errors.length === 0) return `Errors: ${common}.\n`;
  const lines = errors.map(({ code, reason, when }) =>
    wrapped(`- \`${code}\`${reason ? `, \`${reason}\`` : ''}: ${when}`, '  '),
  );
  return `Errors, beside ${common}:\n\n${lines.join('\n')}\n`;
}

function exampleOf({ query, variables, answer, events }: ApiExample): string {
  const blocks = [
    `\`\`\`graphql\n${query}\n\`\`\``,
    ...(variables ? [`with the variables\n\n\`\`\`json\n${shortJson(variables)}\n\`\`\``] : []),
    ...(answer === undefined ? [] : [`answers\n\n\`\`\`json\n${shortJson(answer)}\n\`\`\``]),
    ...(events ? [`sends\n\n\`\`\`json\n${events.map((event) => shortJson(event)).join('\n')}\n\`\`\``] : []),
  ];
  return `Example:\n\n${blocks.join('\n\n')}\n`;
}

/** Returns the object, interface and enum types of results, and the enums of arguments, sorted by name. */
function typesOf(operations: Operation[]): GraphQLNamedType[] {
  const found = new Set<GraphQLNamedType>();
  const add = (of: GraphQLOutputType | GraphQLInputType): void => {
    const type = getNamedType(of);
    if (found.has(type) || isScalarType(type)) return;
    found.add(type);
    if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type))
      for (const field of Object.values(type.getFields())) add(field.type);
  };
  for (const { type, args } of operations) for (const of of [type, ...args.map((each) => each.type)]) add(of);
  return [...found]
    .filter((type) => !isInputObjectType(type))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function typeSection(type: GraphQLNamedType): string {
  const about = `### ${type.name}\n${type.description ? `\n${wrapped(plain(type.description))}\n` : ''}`;
  const line = (name: string, description?: string | null) =>
    wrapped(`- ${name}${description ? `: ${plain(description)}` : ''}`, '  ');
  if (isEnumType(type))
    return `${about}\n${type
      .getValues()
      .map(({ name, description }) => line(`\`${name}\``, description))
      .join('\n')}`;
  if (!isObjectType(type) && !isInterfaceType(type)) return about;
  const fields = Object.values(type.getFields()).map(({ name, type: of, args, description }) => {
    const given = args.map((each) => `${each.name}: ${each.type}`).join(', ');
    return itemOf(`${name}${given && `(${given})`}`, typeLink(of), description);
  });
  return `${about}\n${fields.join('\n')}`;
}

/** Returns a type in the schema's notation, with a link to its section on the page. */
function typeLink(type: GraphQLOutputType | GraphQLInputType): string {
  const named = getNamedType(type);
  const text = String(type).replaceAll('[', '\\[').replaceAll(']', '\\]');
  return isScalarType(named) || isInputObjectType(named)
    ? text
    : text.replace(named.name, `[${named.name}](#${named.name.toLowerCase()})`);
}

/** Returns a description as Markdown, in which characters that would be markup are escaped. */
function plain(text: string): string {
  const parts = text.replaceAll(/\s+/gu, ' ').split(/(`[^`]*`)/u);
  return parts.map((part) => (part.startsWith('`') ? part : part.replaceAll(/[<*]/gu, '\\$&'))).join('');
}

/** Formats a value as JSON, with each object or list on one line if it fits. */
export function shortJson(value: unknown, indent = '', before = 0): string {
  const whole = oneLine(value);
  if (indent.length + before + whole.length <= pageWidth || typeof value !== 'object' || value === null) return whole;
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((each) => `${inner}${shortJson(each, inner)}`)
    : Object.entries(value).map(([name, each]) => {
        const key = `${JSON.stringify(name)}: `;
        return `${inner}${key}${shortJson(each, inner, key.length)}`;
      });
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${oneLine(each)}`);
  return entries.length > 0 ? `{ ${entries.join(', ')} }` : '{}';
}
