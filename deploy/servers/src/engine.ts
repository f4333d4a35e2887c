import type { Account } from './account.ts';
import type { Tool } from './tool.ts';

export type EngineName = 'postgres' | 'redis' | 'kafka' | 's3';

/** What belongs to one server on this machine. */
export interface Place {
  /** Its folder: data, configuration, log, and who runs there. */
  home: string;
  /** Where its program was installed. */
  installed: string;
  /** The ports that it listens on, by the names that the engine gave them. */
  ports: Record<string, number>;
  /** Passwords and ids that were made once, by the names that the engine gave them. */
  secrets: Record<string, string>;
  account: Account | undefined;
}

export interface ServerCommand {
  command: string;
  args: string[];
  /** Added to a PATH and a locale; nothing else of this program's environment reaches the server. */
  env?: Record<string, string>;
}

/** How one kind of server is installed, furnished, started, asked and stopped. */
export interface Engine {
  name: EngineName;
  title: string;
  tool: Tool;
  /** The version of the server that an install holds. */
  version(installed: string): string;
  /** Names of the ports that it needs; `main` is the one that clients use. */
  ports: ('main' | 'controller')[];
  /** Makes the passwords and ids of a new place. */
  makeSecrets(): Record<string, string>;
  /** Refuses to run as root. */
  refusesRoot: boolean;
  /** Ends it in good order. */
  stopSignal: NodeJS.Signals;
  /** The setting that says where a server is; when it is set already, none of ours is started. */
  setting: string;
  /** The names of all settings that clients read. */
  settingNames: string[];
  /** Those settings, for a server of ours. */
  settings(place: Place): Record<string, string>;
  /** Why an installed program cannot run on this machine, if it cannot. */
  cannotRun?(): Promise<string | undefined>;
  /** Makes data folder and configuration where they are missing; whole or not at all. */
  prepare(place: Place, signal: AbortSignal): Promise<void>;
  command(place: Place): ServerCommand;
  /** Asks once, as a client would. @throws where it does not answer, or where another server than this one does. */
  ask(place: Place): Promise<void>;
  /** Makes what clients expect to find in it, once it answers. Done already: does nothing. */
  furnish?(place: Place): Promise<void>;
}

/** The user `nobody`, by the number that it has on every Linux. */
const nobody: Account = { uid: 65534, gid: 65534 };

export function accountFor(engine: Pick<Engine, 'refusesRoot'>): Account | undefined {
  return engine.refusesRoot && process.getuid?.() === 0 ? nobody : undefined;
}
