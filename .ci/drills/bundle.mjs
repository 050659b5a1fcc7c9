// Writes the config.json of an OCI bundle that runs the image as a cluster should run it: the user of
// the image, a read-only root file system, no capabilities, no new privileges. Takes over entrypoint,
// environment and user from the image. It shares the network of the host.
//
//   node .ci/drills/bundle.mjs BUNDLE ROOT IMAGE.json SOCKETS DATA NAME=value ... -- COMMAND...
//
// IMAGE.json is the output of `buildah inspect --type image`; SOCKETS is the folder of PostgreSQL's
// socket, DATA the writable folder of the service.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [bundle, rootFolder, image, sockets, data, ...rest] = process.argv.slice(2);
const end = rest.indexOf('--');
const { config } = JSON.parse(readFileSync(image, 'utf8')).Docker;
const [uid, gid] = config.User.split(':').map(Number);
const folder = (destination, source, options) => ({
  destination,
  source,
  type: 'none',
  options: ['bind', 'nosuid', 'nodev', ...options],
});
const spec = {
  ociVersion: '1.0.2',
  process: {
    terminal: false,
    user: { uid, gid },
    args:
      rest[end + 1] === 'exec'
        ? rest.slice(end + 2)
        : config.Entrypoint.concat(rest.slice(end + 1)),
    env: [...config.Env, ...rest.slice(0, end)],
    cwd: config.WorkingDir,
    capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
    noNewPrivileges: true,
  },
  root: { path: rootFolder, readonly: true },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc' },
    {
      destination: '/dev',
      type: 'tmpfs',
      source: 'tmpfs',
      options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
    },
    {
      destination: '/tmp',
      type: 'tmpfs',
      source: 'tmpfs',
      options: ['nosuid', 'nodev', 'noexec', 'mode=1777', 'size=65536k'],
    },
    folder('/run/postgresql', sockets, ['ro']),
    folder('/var/lib/outlay', data, ['rw']),
  ],
  linux: {
    namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })),
    maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/sched_debug', '/sys/firmware'],
    readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
  },
};
writeFileSync(join(bundle, 'config.json'), JSON.stringify(spec, null, 2));
