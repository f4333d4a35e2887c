export type EngineName = 'postgres' | 'redis' | 'kafka' | 's3';

/** Folders, ports and passwords of one server on this machine. */
export interface Place {
  /** Its folder: data, configuration, log, and the record of its process. */
  home: string;
  /** The folder of its installed program. */
  installed: string;
  /** The address that it listens on. */
  host: string;
  /** Its reserved ports; clients use `main`. */
  ports: { main: number; second: number };
  /** The passwords of the application's login and of the administrator; hexadecimal, generated once. */
  password: string;
  superuserPassword: string;
}

/** One kind of server. */
export interface Engine {
  name: EngineName;
  title: string;
  version: string;
  /** The folder of its scripts `install.sh` and `start.sh`. Default: the folder of its name in `engines`. */
  scripts?: string;
  /** The folder of its program. The number at its end is incremented when `install.sh` changes what it installs. */
  folder: string;
  /** The signal for a regular stop. SIGINT is PostgreSQL's "fast shutdown", which does not wait for clients. */
  stopSignal: NodeJS.Signals;
  /** The setting with the address of a server; when the environment has it, none is started. */
  setting: string;
  /** The settings for clients of a server that this package has started. */
  settings(place: Place): Record<string, string>;
  /** Sends one request, like a client. @throws Error if there is no answer within seconds. */
  ask(place: Place): Promise<unknown>;
}
