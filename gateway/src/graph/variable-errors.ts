import {
  GraphQLError,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isSpecifiedScalarType,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql';

type Path = readonly (string | number)[];
type Report = (problem: string) => void;

const maxNameLength = 40;

class LimitReached extends Error {}

/**
 * Checks variables without quoting their values, which may be passwords or very large. The errors of graphql-js quote values; the errors
 * returned here name the path and the type.
 */
export function variableErrors(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
  maxErrors: number,
): GraphQLError[] {
  const errors: GraphQLError[] = [];
  try {
    for (const definition of variableDefinitions) {
      const name = definition.variable.name.value;
      const type = typeFromAST(schema, definition.type);
      if (!isInputType(type)) continue; // validation refuses such a definition
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (value === undefined && (definition.defaultValue || !isNonNullType(type))) continue;
      check(value, type, [name], (problem) => {
        errors.push(new GraphQLError(`Variable "$${name}" ${problem}`, { nodes: definition }));
        if (errors.length >= maxErrors) throw new LimitReached();
      });
    }
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
  }
  return errors;
}

function check(value: unknown, type: GraphQLInputType, path: Path, report: Report): void {
  if (isNonNullType(type)) {
    if (value === undefined || value === null) report(`must be of type "${type}"${at(path)}, and is not there`);
    else check(value, type.ofType, path, report);
  } else if (value === undefined || value === null) return;
  else if (isListType(type)) {
    // GraphQL coerces a single value to a list.
    if (!Array.isArray(value)) check(value, type.ofType, path, report);
    else for (const [index, item] of value.entries()) check(item, type.ofType, [...path, index], report);
  } else if (!isInputObjectType(type)) {
    if (!isOf(type, value)) report(`must be of type "${type}"${at(path)}`);
  } else if (typeof value !== 'object' || Array.isArray(value)) report(`must be of type "${type}"${at(path)}`);
  else {
    const given = value as Readonly<Record<string, unknown>>;
    const fields = type.getFields();
    for (const { name, type: of, defaultValue } of Object.values(fields)) {
      const field = Object.hasOwn(given, name) ? given[name] : undefined;
      if (field !== undefined || defaultValue === undefined) check(field, of, [...path, name], report);
    }
    for (const name of Object.keys(given)) {
      if (!Object.hasOwn(fields, name)) report(`has a field that type "${type}" has not${at([...path, short(name)])}`);
    }
  }
}

function isOf(type: GraphQLLeafType, value: unknown): boolean {
  // Built-in parsers refuse objects with a message that quotes them.
  if ((isSpecifiedScalarType(type) || isEnumType(type)) && typeof value === 'object') return false;
  try {
    return type.parseValue(value) !== undefined;
  } catch {
    return false;
  }
}

function at(path: Path): string {
  return path.length > 1 ? ` at "${path.join('.')}"` : '';
}

function short(name: string): string {
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength).toWellFormed()}…` : name;
}
