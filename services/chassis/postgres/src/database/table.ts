import { columnOf } from './names.ts';

/** The properties of a column in addition to its type. */
export interface ColumnOptions {
  /**
   * Whether the column holds JSON; `written` then serializes its values. In other columns the driver sends an array as an SQL array.
   * Default false.
   */
  json?: boolean;
  /** SQL that computes the value when the row is read, from the table's name or alias in the statement. Such a field cannot be written. */
  sql?: (table: string) => string;
  /**
   * Set this if the values may be long. A list reads a long column only if the column is selected. Otherwise the list reads the SQL given
   * here in place of the column, or nothing if `true` is given. Default false.
   */
  long?: boolean | string;
}

declare const readAs: unique symbol;

/** A column whose values are read as `Value`. */
export type Column<Value> = ColumnOptions & { readonly [readAs]: Value };

export interface Table<Row extends object> {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnOptions>>;
  readonly [readAs]: Row;
}

/** A row of a declared table, e.g. `RowOf<typeof agents>`. */
export type RowOf<Declared extends { readonly [readAs]: object }> = Declared[typeof readAs];

export function column<Value>(options: ColumnOptions = {}): Column<Value> {
  return options as Column<Value>;
}

/**
 * Declares a table: its name and the fields of its rows. Each field is a column, whose name is in snake_case. Columns that are not fields
 * appear only in migrations.
 */
export function table<Columns extends Record<string, Column<unknown>>>(
  name: string,
  columns: Columns,
): Table<{ -readonly [Name in keyof Columns]: Columns[Name][typeof readAs] }> {
  return { name, columns } as unknown as Table<never>;
}

/**
 * Returns all columns of a row as SQL, for SELECT and RETURNING.
 * @param of the table's alias in the statement. Default: its name.
 */
export function columnsOf<Row extends object>({ name, columns }: Table<Row>, of = name): string {
  return Object.entries(columns)
    .map(([field, options]) => readColumn(of, field, options))
    .join(', ');
}

/** Returns one column as SQL for a SELECT list. */
export function readColumn(of: string, field: string, options: ColumnOptions): string {
  const value = valueOf(of, field, options);
  return options.sql ? `${value} AS ${columnOf(field)}` : value;
}

/** Returns a column's value as an SQL expression. */
export function valueOf(of: string, field: string, { sql }: ColumnOptions): string {
  return sql ? sql(of) : `${of}.${columnOf(field)}`;
}

/** Returns values for an INSERT or UPDATE of the table. Undefined values stay undefined, and knex omits them. */
export function written<Row extends object, Values extends object>({ columns }: Table<Row>, values: Values): Values {
  const isJson = ([field, value]: [string, unknown]) => columns[field]?.json && value !== undefined && value !== null;
  const json = Object.entries(values).filter(isJson);
  return { ...values, ...Object.fromEntries(json.map(([field, value]) => [field, JSON.stringify(value)])) };
}
