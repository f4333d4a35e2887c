export type EngineName = 'postgres' | 'redis' | 'kafka' | 's3';

/** Folders, ports and passwords of one server on this machine. */
export interface Place {
  /** The server's folder: data, configuration, log, and the record of its process. */
  home: string;
  /** The folder of the installed program. */
  installed: string;
  /** The address that the server listens on. */
  host: string;
  /** The server's reserved ports. Clients use `main` on `host`. Only the server itself uses `second`, on 127.0.0.1. */
  ports: { main: number; second: number };
  /** The password of the application's login; hexadecimal, generated once. */
  password: string;
  /** The password of the administrator's login; hexadecimal, generated once. */
  superuserPassword: string;
}

/** A kind of server. */
export interface Engine {
  name: EngineName;
  title: string;
  version: string;
  /** The folder of `install.sh` and `start.sh`. Default: the folder in `engines` that has the engine's name. */
  scripts?: string;
  /** The folder of the installed program. Increment the number at its end when `install.sh` installs something else. */
  folder: string;
  /** The signal for a regular stop. SIGINT is PostgreSQL's "fast shutdown", which does not wait for clients. */
  stopSignal: NodeJS.Signals;
  /** The setting with a server's address. If the environment has the setting, no server is started. */
  setting: string;
  /** Returns the settings with which clients reach a server that this package has started. */
  settings(place: Place): Record<string, string>;
  /** Sends one request, like a client. @throws Error if there is no response within a few seconds */
  ask(place: Place): Promise<unknown>;
}
