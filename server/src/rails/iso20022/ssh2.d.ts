/**
 * Of the package `ssh2` what sftp.ts uses. The types on npm bring those of an old Node along, which
 * contradict ours.
 */
declare module 'ssh2' {
  type Done = (error?: Error | null) => void;

  export type FileAttributes = {
    readonly size: number;
    readonly mtime: number;
    isFile(): boolean;
  };

  export type SftpSession = {
    readdir(
      path: string,
      done: (
        error: Error | null | undefined,
        list: readonly { readonly filename: string; readonly attrs: FileAttributes }[],
      ) => void,
    ): void;
    open(
      path: string,
      flags: 'r' | 'w',
      done: (error: Error | null | undefined, handle: Buffer) => void,
    ): void;
    read(
      handle: Buffer,
      buffer: Buffer,
      range: number,
      length: number,
      position: number,
      done: (error: Error | null | undefined, bytesRead: number) => void,
    ): void;
    write(
      handle: Buffer,
      buffer: Buffer,
      offset: number,
      length: number,
      position: number,
      done: Done,
    ): void;
    close(handle: Buffer, done: Done): void;
    rename(from: string, to: string, done: Done): void;
    unlink(path: string, done: Done): void;
    mkdir(path: string, done: Done): void;
    stat(
      path: string,
      done: (error: Error | null | undefined, attributes: FileAttributes) => void,
    ): void;
    ext_openssh_fsync(handle: Buffer, done: Done): void;
    ext_openssh_rename(from: string, to: string, done: Done): void;
  };

  export type ConnectOptions = {
    readonly host: string;
    readonly port: number;
    readonly username: string;
    readonly privateKey: string;
    readonly passphrase?: string;
    readonly readyTimeout: number;
    readonly authHandler: readonly 'publickey'[];
    readonly algorithms: { readonly serverHostKey: readonly string[] };
    readonly hostVerifier: (key: Buffer) => boolean;
  };

  export class Client {
    on(event: 'ready' | 'close', listener: () => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
    connect(options: ConnectOptions): this;
    setNoDelay(isWithoutDelay: boolean): this;
    sftp(done: (error: Error | undefined, session: SftpSession) => void): void;
    end(): void;
    destroy(): void;
  }
}
