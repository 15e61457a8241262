// What the virtual machine of the NVR is told at its first boot, by cloud-init: its configuration, its certificate, its admin
// password, and the container to start. The template brings cloud-init, Docker and the container's image.
import { stringify } from 'yaml'

export interface FirstBoot {
  /** With ADDRESS_PLACEHOLDER where the machine's own address belongs. */
  config: string
  /** PEM, with the key of the server. */
  certificate: string
  key: string
  admin_password: string
  image: string
  port: number
  has_gpu: boolean
}

/** The machine knows its address first. */
export const ADDRESS_PLACEHOLDER = 'ADDRESS_OF_THIS_MACHINE'

const FOLDER = '/opt/groundplane-nvr'

export const NVR_FILES = {
  config: `${FOLDER}/config/config.yml`,
  certificate: `${FOLDER}/certificates/fullchain.pem`,
  key: `${FOLDER}/certificates/privkey.pem`,
  /** JSON, as the NVR takes it; removed when it is set. */
  admin_password: `${FOLDER}/admin-password.json`,
  compose: `${FOLDER}/compose.yaml`,
  first_boot: `${FOLDER}/first-boot.sh`,
} as const

/** In clear; the platform wants it in Base64. */
export function userData(boot: FirstBoot): string {
  const files: [path: string, content: string, permissions?: string][] = [
    [NVR_FILES.config, boot.config],
    [NVR_FILES.certificate, boot.certificate],
    [NVR_FILES.key, boot.key],
    [NVR_FILES.admin_password, JSON.stringify({ password: boot.admin_password })],
    [NVR_FILES.compose, stringify(compose(boot), { lineWidth: 0 })],
    [NVR_FILES.first_boot, FIRST_BOOT, '0700'],
  ]
  const document = {
    write_files: files.map(([path, content, permissions = '0600']) => ({ path, permissions, content })),
    runcmd: [[NVR_FILES.first_boot]],
  }
  return `#cloud-config\n${stringify(document, { lineWidth: 0 })}`
}

/** Without authentication is port 5000: only the machine itself reaches it. */
function compose({ image, port, has_gpu }: FirstBoot) {
  const gpu = { resources: { reservations: { devices: [{ driver: 'nvidia', count: 'all', capabilities: ['gpu'] }] } } }
  return {
    services: {
      nvr: {
        image,
        container_name: 'nvr',
        restart: 'unless-stopped',
        stop_grace_period: '30s',
        shm_size: '512mb',
        ports: [`${port}:8971`, '8555:8555/tcp', '8555:8555/udp', '127.0.0.1:5000:5000'],
        volumes: ['./config:/config', './media:/media/frigate', './certificates:/etc/letsencrypt/live/frigate:ro'],
        tmpfs: ['/tmp/cache:size=1g'],
        ...(has_gpu ? { deploy: gpu } : {}),
      },
    },
  }
}

/** Safe to run again. The password goes by a file, so that no list of processes shows it. */
const FIRST_BOOT = `#!/bin/sh
# First boot of the NVR: the disk for recordings, the container, the admin password.
set -eu
cd ${FOLDER}
mkdir -p media
if ! mountpoint -q media; then
  for disk in $(lsblk -dnpo NAME,TYPE | awk '$2 == "disk" { print $1 }'); do
    # The first disk that nothing is mounted from.
    if [ -z "$(lsblk -nro MOUNTPOINT "$disk" | tr -d '\\n')" ]; then
      # A disk with recordings of an earlier NVR is taken over as it is.
      blkid "$disk" >/dev/null || mkfs.ext4 -q -L nvr-media "$disk"
      echo "UUID=$(blkid -s UUID -o value "$disk") ${FOLDER}/media ext4 defaults,nofail 0 2" >>/etc/fstab
      mount media
      break
    fi
  done
fi
address=$(ip -4 route get 192.0.2.1 | sed -n 's/.* src \\([0-9.]*\\).*/\\1/p')
sed -i "s/${ADDRESS_PLACEHOLDER}/$address/" config/config.yml
docker compose up -d
test -e admin-password.json || exit 0
for try in $(seq 1 300); do
  if curl -fsS -o /dev/null -X PUT -H 'Content-Type: application/json' --data-binary @admin-password.json \\
    http://127.0.0.1:5000/api/users/admin/password; then
    rm admin-password.json
    exit 0
  fi
  sleep 2
done
exit 1
`
