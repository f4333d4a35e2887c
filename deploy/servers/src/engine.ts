export type EngineName = 'postgres' | 'redis' | 'kafka' | 's3';

/** What belongs to one server on this machine. */
export interface Place {
  /** Its folder: data, configuration, log, and the record of its process. */
  home: string;
  /** Where its program was installed. */
  installed: string;
  /** The ports that are kept for it; clients use `main`. */
  ports: { main: number; second: number };
  /** Of the application's login, and of the one that may do everything; hexadecimal, made once. */
  password: string;
  superuserPassword: string;
}

/** One kind of server. */
export interface Engine {
  name: EngineName;
  title: string;
  version: string;
  /** The folder of its scripts `install.sh` and `start.sh`, which those in `engines` run. Default: there, by its name. */
  scripts?: string;
  /** The folder of its program. Its last part is raised when `install.sh` puts something else there. */
  folder: string;
  /** Ends it in good order. PostgreSQL by SIGINT, its "fast shutdown", waits for no client. */
  stopSignal: NodeJS.Signals;
  /** The setting that says where a server is; when it is set already, none of ours is started. */
  setting: string;
  /** All settings that clients read, for a server of ours. */
  settings(place: Place): Record<string, string>;
  /** Asks once, as a client would. @throws Error where it does not answer within seconds. */
  ask(place: Place): Promise<unknown>;
}
