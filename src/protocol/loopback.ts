/** Returns true if the host is this machine, by its name or address and without DNS. */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(hostname)
  )
}
