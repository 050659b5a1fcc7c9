import dns from 'node:dns';

/**
 * Preloaded by the processes of a drill: host names of `pay.example` are this machine, as a DNS of their
 * operator would say. Connections look names up with `dns.lookup` at the time.
 */
const { lookup } = dns;

dns.lookup = function lookUp(hostname, options, callback) {
  const isOurs = /(?:^|\.)pay\.example$/.test(hostname);
  return lookup.call(dns, isOurs ? '127.0.0.1' : hostname, options, callback);
};
