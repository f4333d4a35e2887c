import type { Server } from './fleet.ts';

/** A table for people: engine, version, port, pid, state, data folder. */
export function statusTable(servers: Server[]): string {
  const rows = servers.map((server) => {
    const { engine, state } = server;
    const place = 'place' in server ? server.place : undefined;
    const runs = state === 'up' || state === 'silent';
    return [
      engine.title,
      runs ? engine.version(server.place.installed) : '-',
      runs ? String(server.place.ports.main) : '-',
      runs ? String(server.pid) : '-',
      stateInWords(server),
      place?.home ?? '-',
    ];
  });
  const table = [['engine', 'version', 'port', 'pid', 'state', 'data'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table
    .map(
      (row) =>
        `${row
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function stateInWords(server: Server): string {
  switch (server.state) {
    case 'up':
      return 'up';
    case 'down':
      return server.installed ? 'down' : 'not installed';
    case 'silent':
      return 'runs, does not answer';
    case 'configured':
      return `${server.engine.setting} is set`;
    case 'unavailable':
    case 'failed':
      return server.reason;
  }
}

/** Lines for a shell to `eval`; what it is given stays what it was, whatever characters it holds. */
export function exportLines(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `export ${name}=${quoted(value)}\n`)
    .join('');
}

function quoted(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
