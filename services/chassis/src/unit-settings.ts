import { z } from 'zod';
import { type ListedSetting, listSettings, type Settings, setting } from './settings.ts';
import { databaseSettings, unitProcessSettings } from './shared-settings.ts';

/** What one unit reads from the environment. */
export interface UnitSettings<Own extends Settings = Settings> {
  unit: string;
  /** Of the unit alone; `readSettings` takes it. */
  own: Own;
  /** Whether it keeps a schema in the database. */
  database: boolean;
  /** The units that it calls by gRPC. */
  calls: string[];
  /** The units whose subgraphs it asks. */
  subgraphs: string[];
}

/**
 * All settings that the unit reads as a process of its own; nothing is started or read for it.
 * @returns those that only it reads, its neighbours' addresses included, and those of every process.
 */
export function settingsOfProcess({ unit, own, database, calls, subgraphs }: UnitSettings): {
  own: ListedSetting[];
  shared: ListedSetting[];
} {
  const { databasePoolSize, ...others } = unitProcessSettings;
  const urls = databaseSettings(unit);
  return {
    own: listSettings({ own, addresses: addressSettings(calls, subgraphs), ...(database && { database: urls.own }) }),
    shared: listSettings({ ...others, ...(database && { databasePoolSize, database: urls.shared }) }),
  };
}

function addressSettings(calls: string[], subgraphs: string[]): Settings {
  const names = { RPC: calls, GRAPH: subgraphs };
  const each = Object.entries(names).flatMap(([kind, units]) =>
    units.map((unit) => {
      const name = `${unit.toUpperCase()}_${kind}_URL`;
      const type = kind === 'RPC' ? z.string() : z.url();
      return [name, setting(name, type.meta({ title: kind === 'RPC' ? 'host:port' : 'URL' }), meaningOf(unit, kind))];
    }),
  );
  return Object.fromEntries(each);
}

function meaningOf(unit: string, kind: string): string {
  const what = kind === 'RPC' ? `The gRPC of ${unit}, as \`host:port\`` : `The subgraph of ${unit}`;
  return `${what}. Not needed where both run in one process.`;
}
